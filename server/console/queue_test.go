package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// contains requires that a page is shown, has all texts, and no markup that a stranger chose.
func (w *browser) contains(path string, texts ...string) string {
	w.t.Helper()
	page := w.get(path)
	require.Equal(w.t, http.StatusOK, page.Status, "%s: %s", path, page.Body)
	for _, text := range texts {
		require.Contains(w.t, page.Body, text, path)
	}
	require.NotContains(w.t, page.Body, "<script>alert", path)
	return page.Body
}

// Pins pages that say nothing while there is nothing, or not what to do then.
func TestPagesOfTheQueueAreEmpty(t *testing.T) {
	t.Parallel()
	w := setup(t).as(ivyToken)
	w.contains("/queue", "There is no matchmaking profile.", "director profiles apply",
		"has left the queue in the last hour", "DIRECTOR_MATCH_HISTORY")
	w.contains("/matches", "No match was made in the last hour.", "No match plays", "None is remembered")
	w.contains("/agents", "No game server is connected with a FleetAgent.", "DIRECTOR_ORCHESTRATOR_ADDR")
	w.contains("/agents?state=stale", "No agent matches the filter.")
	w.contains("/rooms", "No connected game server has a room.")
	w.contains("/rooms?text=x", "No room matches the filter.")
	w.contains("/lobbies", "The realtime lobby has no rooms.")
	w.contains("/deployments", "There are no pools.", "director pools apply", "No provider runs a server")
	w.contains("/deployments?phase=ready", "No server matches the filter.")
	w.contains("/events", "Nothing has happened yet.")
	w.contains("/events?kind=x", "No event matches the filter")
	for _, path := range []string{"/tickets/t", "/matches/" + uuid.NewString(), "/agents/a",
		"/deployments/" + uuid.NewString()} {
		require.Equal(t, http.StatusNotFound, w.get(path).Status, path)
	}
	for _, path := range []string{"/matches/x", "/deployments/x", "/deployments/" + url.PathEscape(hostile)} {
		page := w.get(path)
		require.Equal(t, http.StatusBadRequest, page.Status, path)
		require.NotContains(t, page.Body, "<script>alert")
	}
}

// Pins a queue that leaves out a profile, or plots another one than was asked for.
func TestQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	b.AddProfile("raid", storetest.Duel)
	b.QueuePlayer("p1", 1000, "duel")
	b.matched("t1", "", 5)
	w := b.as(ivyToken)
	w.contains("/queue", `<b>1</b><span>tickets wait</span>`, `href="/queue?profile=duel"`, "no worker", `<polyline class="line0"`, "As a table", "174 s")
	require.NotContains(t, w.get("/queue").Body, "Ended before p50")
	b.Exec(`INSERT INTO estimate_hours (region, profile, hour, waits, before_p50, before_p90) VALUES ('global', 'duel', date_trunc('hour', now(), 'UTC'), 1000, 497, 911)`)
	w.contains("/queue", "Ended before p50", "49.7 %", "91.1 %")
	w.contains("/queue?profile=raid", "No ticket of raid has left the queue in the last hour.")
	w.contains("/queue?profile=" + url.QueryEscape(hostile))
}

// Pins an explanation that does not lead to the tickets and players that it names.
func TestTicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	near, far := b.QueuePlayer("p1", 1000, "duel"), b.QueuePlayer(hostile, 1500, "duel")
	w := b.as(ivyToken)
	w.contains(ticketPath(near), "waits", `href="/players?q=p1"`, "near-skill", ticketPath(far), "The nearest ticket that does not fit", "<li>near-skill allowed 500</li>", "In words", "queued")
	w.contains("/players?q=p1", "What happened to the latest ticket, 1 state<")
	w.contains(ticketPath(far), "&lt;script&gt;alert")
	require.Equal(t, ticketPath(near), w.get("/find?q="+near).Header.Get("Location"))
}

// Pins matches that cannot be followed to their session, or a page of them that repeats or leaves out some.
func TestMatches(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.AddProfile("duel", storetest.Duel)
	session := b.place("duel", "p1").SessionID
	last := b.matched(hostile, session, 1)
	for i := range pageSize + 3 {
		b.matched("t", "", 2+i%40)
	}
	w := b.as(ivyToken)
	w.contains("/matches", matchPath(last.String()), sessionPath(session), "Players of a match",
		"Difference that rule near-skill compared", "Latency of the player farthest", "40 ms")
	seen, path := map[string]bool{}, "/matches?profile=duel"
	row := regexp.MustCompile(`<th scope="row"><a class="id" href="/matches/([^"]+)"`)
	for path != "" {
		page := w.contains(path)
		for _, m := range row.FindAllStringSubmatch(page, -1) {
			require.False(t, seen[m[1]])
			seen[m[1]] = true
		}
		path = ""
		if next := nextPage.FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Len(t, seen, pageSize+4)
	w.contains(matchPath(last.String()), "near-skill", sessionPath(session), "/instances/eu-1", "Teams", "a and 2 bots",
		"&lt;script&gt;alert", "no longer known")
	for _, query := range []string{"after=x~y", "after=" + url.QueryEscape(hostile),
		"profile=" + url.QueryEscape(hostile)} {
		w.contains("/matches?" + query)
	}
	require.Equal(t, matchPath(last.String()), w.get("/find?q="+last.String()).Header.Get("Location"))
}

// Pins a plot whose values are of other minutes, and one that nobody can read without seeing it.
func TestTimeline(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 24, 15, 4, 30, 0, time.UTC)
	minute := time.Date(2026, 11, 24, 15, 3, 0, 0, time.UTC)
	line := newTimeline(now, hour)
	line.addValue(minute, 7)
	line.addValue(minute.Add(time.Minute), 1000) // is not over
	line.addValue(minute.Add(-time.Hour), 1000)  // is before the hour
	line.keepHighest(minute.Add(-time.Minute), 2)
	require.Equal(t, []float64{-1, 2, 7}, line.valuesWithGaps()[hour-3:])
	html := string(plotHTML(line.plotOf(hostile, " s", series{hostile, line.valuesWithGaps()})))
	require.NotContains(t, html, "<script>")
	require.Contains(t, html, "highest 7 s")
	lone := newTimeline(now, hour)
	lone.addValue(minute, 7)
	require.Equal(t, []string{"597.0,8.0 603.0,8.0"}, series{"", lone.valuesWithGaps()}.linePaths(7),
		"a lone value is seen")
	require.Contains(t, html, `<tr><th scope="row">15:03</th><td class="n">7 s</td></tr>`)
	require.NotContains(t, html, "15:00</th>", "the table leaves out minutes without a value")
	require.NotPanics(t, func() { plotHTML(plotData{Title: "empty"}) })
}

// Pins agents that are drained without a name, and rooms that cannot be followed to their agent.
func TestAgents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.agents(pageSize+2, hostile)
	w := b.as(adaToken)
	page := w.contains("/agents", "connected", "/agents/0000000000000001/drain", "create", "&lt;script&gt;alert")
	require.Contains(t, w.contains(strings.ReplaceAll(nextPage.FindStringSubmatch(page)[1], "&amp;", "&")),
		"/agents/0000000000000034")
	require.NotContains(t, b.as(ivyToken).get("/agents").Body, "/drain")
	w.contains("/agents/0000000000000001", `data-copy="0000000000000001"`, "/instances/p0000000000000001", "~lobby", "rack=", "/events?instance=0000000000000001")
	require.Contains(t, w.contains("/rooms"), "/agents/0000000000000001")

	require.Equal(t, http.StatusSeeOther, w.act("/agents/0000000000000001/drain").Status)
	w.contains("/agents/0000000000000001", "it gets no new rooms", "kept over restarts",
		"/agents/0000000000000001/undrain")
	w.act("/agents/0000000000000001/drain")
	require.Contains(t, w.get("/agents").Body, "nothing changed")
	w.act("/agents/0000000000000001/undrain")
	require.Equal(t, []string{"console:ada"}, b.actors("drain.kept"))
	require.Equal(t, []string{"console:ada"}, b.actors("drain.ended"))
	require.Equal(t, http.StatusNotFound, w.get("/agents/zz/drain").Status)
}

// Pins rooms of the lobby whose second page repeats the first.
func TestLobbies(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.lobby(pageSize+1, hostile)
	w := b.as(ivyToken)
	page := w.contains("/lobbies", "lobby:001", "lobby:050", "no replica")
	require.NotContains(t, page, "lobby:051")
	second := w.contains(strings.ReplaceAll(nextPage.FindStringSubmatch(page)[1], "&amp;", "&"), "lobby:051")
	require.NotContains(t, second, "lobby:050")
	w.contains("/lobbies?project=p2", "No room of the lobby matches the filter.")
}

// Pins a server that is stopped, or a pool that is scaled, without a name, a reason or a limit.
func TestDeployments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.deployments(pageSize+1, hostile)
	w := b.as(adaToken)
	page := w.contains("/deployments", "1 used &#43; 1 buffer = 2", "/pools/eu/arena/v1.2/scale", `<a href="/pools/eu/arena/v1.2">`, "deploy_failed", "paused", "&lt;script&gt;alert")
	require.NotContains(t, page, "secret-of-the-env")
	w.contains(strings.ReplaceAll(nextPage.FindStringSubmatch(page)[1], "&amp;", "&"), "Servers")
	w.contains("/deployments?phase=ready&app=arena&region=eu", deploymentPath(ids[0].String()))
	require.NotContains(t, b.as(ivyToken).get("/deployments").Body, "/stop")

	pool := w.contains("/pools/eu/arena/v1.2", "/deployments?region=eu&amp;app=arena",
		"fri-sun 18:00 to 23:30 Europe/Berlin", "It is switched off",
		"In 672 hours of the last four weeks it was wrong by 0 of ", "Servers in the last seven days", "Hour, UTC",
		"Weeks known")
	require.Contains(t, pool, "/pools/eu/arena/v1.2/scale")
	require.NotContains(t, b.as(ivyToken).get("/pools/eu/arena/v1.2").Body, "/scale")
	require.Equal(t, http.StatusNotFound, w.get("/pools/eu/arena/none").Status)
	b.Exec("DELETE FROM pool_hours")
	b.Exec("DELETE FROM pool_schedules")
	w.contains("/pools/eu/arena/v1.2", "No hour is known yet",
		"the least number of servers does not depend on the time")

	one := deploymentPath(ids[0].String())
	w.contains(one, "/instances/"+ids[0].String(), "Ready for players", one+"/stop")
	require.Contains(t, w.act(one+"/stop").Body, "Say why")
	require.Equal(t, http.StatusSeeOther, w.act(one+"/stop", "reason", "bad build").Status)
	w.contains(one, "bad build", "The server stops.")
	w.act(one+"/stop", "reason", "bad build")
	require.Contains(t, w.get("/deployments").Body, "nothing changed")
	require.Equal(t, []string{"console:ada"}, b.actors("deployment.stopped"))

	const scale = "/pools/eu/arena/v1.2/scale"
	for _, wrong := range [][2]string{{"x", "5"}, {"-1", "5"}, {"6", "5"}, {"0", "100001"}, {"", "5"},
		{"99999999999", "5"}} {
		require.Equal(t, http.StatusUnprocessableEntity, w.act(scale, "min", wrong[0], "max", wrong[1]).Status, wrong)
	}
	require.Empty(t, b.actors("pool.scaled"))
	require.Equal(t, http.StatusSeeOther, w.act(scale, "min", "2", "max", "9").Status)
	w.contains("/deployments", "2 to 9, buffer 20%")
	w.act(scale, "min", "2", "max", "8", "reason", "a quiet week")
	w.contains("/events?kind=pool.scaled&actor=console:ada", "reason: a quiet week")
	require.Equal(t, []string{"console:ada", "console:ada"}, b.actors("pool.scaled"))
	require.Equal(t, http.StatusNotFound, w.get("/pools/eu/arena/v9/scale").Status)
}

var olderEvents = regexp.MustCompile(`<p class="more"><a href="([^"]+)">Older events</a>`)

// Pins a log that does not lead to what its events concern, shows markup, repeats events, or ends at the first page.
func TestEvents(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	session := b.place("duel", "p1").SessionID
	b.Exec(`INSERT INTO events (region, kind, actor, instance_id, detail) VALUES ('eu', 'agent.joined', 'key#1', '000a', jsonb_build_object('name', $1::text)),
		('eu', 'deployment.wanted', 'director', '7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10', '{}'), ('eu', $1::text, $1::text, $1::text, '{}')`, hostile)
	w := b.as(ivyToken)
	page := w.contains("/events", "session.opened", sessionPath(session), `href="/instances/eu-1"`, `href="/agents/000a"`, `href="/deployments/7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10"`, "name: &#34;&gt;&lt;script")
	_, rows, _ := strings.Cut(page, "<tbody>")
	require.Less(t, strings.Index(rows, "agent.joined"), strings.Index(rows, "instance.registered"), "latest first")
	_, only, _ := strings.Cut(w.contains("/events?kind=session.", "session.opened"), "<tbody>")
	require.NotContains(t, only, "instance.registered")
	_, only, _ = strings.Cut(w.contains("/events?instance=eu-1", "instance.registered"), "<tbody>")
	require.NotContains(t, only, "agent.joined")
	_, only, _ = strings.Cut(w.contains("/events?session="+session, "session.opened"), "<tbody>")
	require.NotContains(t, only, "instance.registered")
	w.contains("/events?actor=" + url.QueryEscape(hostile))

	b.Exec(`INSERT INTO events (region, kind) SELECT 'eu', 'test.event' FROM generate_series(1, $1::int)`, 2*pageSize)
	seen, path := map[string]bool{}, "/events?region=eu"
	for path != "" {
		page := w.contains(path)
		for _, m := range regexp.MustCompile(`<tr id="e-([^"]+)">`).FindAllStringSubmatch(page, -1) {
			require.False(t, seen[m[1]])
			seen[m[1]] = true
		}
		path = ""
		if next := olderEvents.FindStringSubmatch(page); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
			require.Contains(t, path, "region=eu")
		}
	}
	require.Len(t, seen, 2*pageSize+5)
	for _, after := range []string{"x~y", "1~x", "99999999999999999999~x"} {
		w.contains("/events?after=" + url.QueryEscape(after))
	}
}

// Pins a page of the events of a night that shows later ones, or only their ages, or forgets the time on its next page;
// and a time that is malformed, which must not show the latest events instead.
func TestEventsUntilATime(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Now().UTC().Add(-time.Hour).Truncate(time.Minute)
	b.Exec(`INSERT INTO events (kind, at) SELECT 'early.event', $1::timestamptz FROM generate_series(1, $2::int)`, at, pageSize+1)
	b.Exec(`INSERT INTO events (kind, at) VALUES ('late.event', $1::timestamptz)`, at.Add(time.Minute))
	w := b.as(ivyToken)
	until := "/events?until=" + url.QueryEscape(at.Add(time.Minute).Format("2006-01-02T15:04"))
	page := w.contains(until, "early.event", ">"+at.Format(time.DateTime)+"<", "Events until then", "Show all")
	require.NotContains(t, page, "late.event")
	next := strings.ReplaceAll(olderEvents.FindStringSubmatch(page)[1], "&amp;", "&")
	require.Contains(t, next, "until=")
	require.NotContains(t, w.contains(next, "early.event"), "late.event")
	w.contains("/events?until="+url.QueryEscape(at.Add(time.Minute+time.Second).Format("2006-01-02T15:04:05")),
		"late.event")
	require.Contains(t, w.contains("/events", "late.event"), "Latest events")
	for _, text := range []string{"x", hostile, "2026-13-01T00:00", "275760-09-13T00:00"} {
		wrong := w.get("/events?until=" + url.QueryEscape(text))
		require.Equal(t, http.StatusBadRequest, wrong.Status, text)
		require.Contains(t, wrong.Body, "until must be a time of UTC")
	}
}

// Pins a page that reads the whole log for a filter that selects nothing, or hides that it did not read all of it.
func TestEventsSayWhereTheyStopped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Exec(`INSERT INTO events (kind) SELECT 'test.event' FROM generate_series(1, 5100)`)
	w := b.as(ivyToken)
	page := w.contains("/events?kind=rare.", "No event matches the filter among the latest 5 000.", "Older events")
	w.contains(strings.ReplaceAll(olderEvents.FindStringSubmatch(page)[1], "&amp;", "&"), "No further events.")
}

// Pins a tail that does not move.
func TestEventsAreLive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, events := b.as(ivyToken).watch("/events?kind=instance.")
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, events)), "No event matches")
	b.AddServer("eu-1", 8)
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, events)), "instance.registered")
}

// Pins a page of the queue that no browser can watch.
func TestQueueIsLive(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, events := b.as(ivyToken).watch("/queue")
	require.Contains(t, htmlOf(t, webtest.NextEvent(t, events)), "There is no matchmaking profile.",
		fmt.Sprint(opsview.MaxPage))
}
