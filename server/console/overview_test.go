package console

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins a page of health that begins with vacuum and keys, stays green while servers die, or leads nowhere from what it
// found.
func TestHealthBeginsWithTheGame(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8)
	b.place("duel", "p1", "p2")
	b.samples()
	b.Exec(`INSERT INTO minute_samples (minute, region, measure, subject, value)
		VALUES (date_trunc('minute', now()) - interval '5 minutes', 'eu', 'lost', '', 7), (date_trunc('minute', now()) - interval '30 minutes', 'eu', 'lost', '', 5)
		ON CONFLICT (minute, region, measure, subject) DO UPDATE SET value = EXCLUDED.value`)
	require.NoError(t, b.RecordRefusals(t.Context(),
		[]db.Refusals{{Times: 3, Latest: fault.Refusal{Player: "p9", Call: "POST /matchmake", Code: "no_capacity"}}}))
	w := b.as(adaToken)
	page := w.contains("/health", `<b>2</b><span>players have a seat</span>`, `<span class="state bad">12</span>`, "game servers died",
		`<b>1</b><span><a href="/players">players refused</a>`, `<b>1</b><span><a href="/fleet">game servers alive</a>`)
	require.Less(t, strings.Index(page, "players have a seat"), strings.Index(page, "Loops of workers"))
	require.Contains(t, page, `<details id="machinery" open>`, "no worker runs: the machinery is not well")
	require.Contains(t, page, `<th scope="row"><a href="/keys">signing keys</a></th>`)
	require.Contains(t, w.contains("/health?range=15+min", `aria-current="true">15 min</a>`), `<span class="state bad">7</span>`)
	require.Contains(t, w.get("/health?range=nonsense").Body, `aria-current="true">1 h</a>`)
}

// Pins a page of health that does not lead to the other cells.
func TestHealthLinksTheOtherCells(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	require.NotContains(t, w.get("/health").Body, "Other cells")
	for name, listeners := range map[string]map[string]string{"us": {"console": "https://console.us.example"},
		"asia": nil} {
		_, err := b.As("").Because("test").SetCell(t.Context(),
			db.OtherCell{Name: name, APIAddress: "https://" + name + ".example",
				ServedRegions: []string{name + "-1", name + "-2"}, Listeners: listeners})
		require.NoError(t, err)
	}
	w.contains("/health", "Other cells", `<a href="https://console.us.example" rel="noreferrer">`, "us-1, us-2", "https://asia.example", "not known")
}

// Pins a queue that says how many wait and not who, for how long and why, and one whose built-in profiles hide the
// others.
func TestTheQueueListsWaitingTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	for _, size := range []int{10, 2, 100} {
		b.AddProfile(fmt.Sprintf("realtime-%d", size), storetest.Duel)
	}
	first, second := b.QueuePlayer("p1", 1000, "duel"), b.QueuePlayer("<b>far</b>", 1400, "duel")
	b.Exec(`UPDATE tickets SET created = created - 60 * 1000000000::bigint WHERE id = $1`, first)
	w := b.as(adaToken)
	page := w.contains("/queue", `href="/players?q=p1"`, `data-label="Others there" class="n">1<`, "&lt;b&gt;far&lt;/b&gt;", "no match yet", "3 built-in profiles")
	require.Less(t, strings.Index(page, ticketPath(first)), strings.Index(page, ticketPath(second)), "oldest first")
	require.Less(t, strings.Index(page, `id="p-realtime-2"`), strings.Index(page, `id="p-realtime-10"`))
	require.Less(t, strings.Index(page, `id="p-realtime-10"`), strings.Index(page, `id="p-realtime-100"`))
	require.Contains(t, page, `<details id="built-in">`, "folded while nobody waits for them")
	require.Contains(t, w.contains("/queue?profile=duel", "Tickets of duel"), ticketPath(first))
	require.NotContains(t, w.get("/queue?profile=realtime-2").Body, ticketPath(first))
	w.contains("/queue?profile=nobody", "There is no profile nobody.")
}

// Pins a list of waiting tickets that loses or repeats some from one page to the next.
func TestTheQueueIsPaged(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddProfile("duel", storetest.Duel)
	const many = pageSize + 3
	for i := range many {
		b.QueuePlayer(fmt.Sprintf("p%03d", i), float64(1000*i), "duel")
	}
	w, seen, row := b.as(adaToken), map[string]bool{}, regexp.MustCompile(`<tr id="t-([^"]+)">`)
	for path := "/queue"; path != ""; {
		page := w.get(path)
		require.Equal(t, http.StatusOK, page.Status)
		for _, match := range row.FindAllStringSubmatch(page.Body, -1) {
			require.False(t, seen[match[1]], match[1])
			seen[match[1]] = true
		}
		path = ""
		if next := nextPage.FindStringSubmatch(page.Body); next != nil {
			path = strings.ReplaceAll(next[1], "&amp;", "&")
		}
	}
	require.Len(t, seen, many)
}

// Pins a support desk that needs the whole id of a player, and that cannot see who was refused.
func TestPlayersAreFoundByTheBeginningOfTheirIDs(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("eu-1", 8, func(r *db.Registration) { r.Capacity = 64 })
	b.place("duel", "alice")
	b.AddProfile("duel", storetest.Duel)
	b.QueuePlayer("alfred", 1000, "duel")
	require.NoError(t, b.RecordRefusals(t.Context(), []db.Refusals{
		{Times: 3, Latest: fault.Refusal{Player: "alan", Call: "POST /matchmake", Code: "no_capacity",
			Detail: "<i>full</i>"}},
		{Times: 1, Latest: fault.Refusal{Player: "bo", Call: "POST /tickets", Code: "cannot_match"}},
	}))
	w := b.as(ivyToken)
	page := w.contains("/players?q=al", "No player has exactly this id", `href="/players?q=alan"`, `href="/players?q=alfred"`, `href="/players?q=alice"`)
	require.NotContains(t, page, "bo</a>")
	w.contains("/players?q=alz", "Nothing is known of this player.")
	recent := w.contains("/players", "Recent refusals", "alan", "&lt;i&gt;full&lt;/i&gt;", "cannot_match")
	require.NotContains(t, recent, "<i>full")
	require.NotContains(t, w.contains("/players?code=cannot_match", "bo"), "alan")
	w.contains("/players?code=none", "No refusals with none in the last 7 days.")
}

// Pins a fleet that cannot be narrowed to a version, a host or a label, and an order whose pages lose or repeat rows.
func TestTheFleetIsSortedAndFiltered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	register := func(id, endpoint, version, rack string, capacity int32) {
		b.AddServer(id, 8, func(r *db.Registration) {
			r.Endpoint, r.Version, r.Labels, r.Capacity = endpoint, version, map[string]string{"rack": rack}, int(capacity)
		})
	}
	register("a", "10.0.3.7:7001", "1.0", "7", 8)
	register("b", "10.0.3.7:7002", "1.1", "7", 64)
	register("c", "10.0.3.70:7001", "1.1", "8", 32)
	register("d", "[2001:db8::1]:7001", "1.1", "8", 16)
	w, row := b.as(adaToken), regexp.MustCompile(`<tr id="i-([^"]+)">`)
	order := func(query string) (ids string) {
		for _, match := range row.FindAllStringSubmatch(w.get("/fleet?"+query).Body, -1) {
			ids += match[1]
		}
		return ids
	}
	for query, want := range map[string]string{
		"version=1.1": "bcd", "host=10.0.3.7": "ab", "host=2001:db8::1": "d", "host=[2001:DB8::1]": "d",
		"label=rack%3D8": "cd", "label=rack": "abcd",
		"label=none": "", "sort=free": "bcda", "sort=free&version=1.1": "bcd", "sort=newest": "dcba",
		"sort=nonsense": "abcd", "": "abcd",
		"sort=free&after=32~c": "da", "sort=free&after=x~c": "bcda",
	} {
		require.Equal(t, want, order(query), query)
	}
	w.contains("/fleet?host=10.0.3.7", `href="/hosts/10.0.3.7/drain"`)
	w.contains("/hosts/10.0.3.7/drain", "2 game servers run there now")
	require.Equal(t, http.StatusSeeOther, w.act("/hosts/10.0.3.7/drain", "reason", "a new disk").Status)
	require.Equal(t, "ab", order("state=draining"))
	require.Equal(t, []string{"console:ada"}, b.actors("drain.kept"))
	require.Equal(t, http.StatusSeeOther, w.act("/hosts/10.0.3.7/undrain").Status)
	require.Equal(t, http.StatusSeeOther, w.act("/labels/rack=8/drain").Status)
	require.Equal(t, "cd", order("state=draining"))
	require.Equal(t, http.StatusForbidden, b.as(ivyToken).get("/hosts/10.0.3.7/drain").Status)
}

// Pins an export that leaves the filter out, and a time from which events are read that reads on for ever.
func TestEventsFromATimeAreSaved(t *testing.T) {
	t.Parallel()
	b := setup(t)
	at := time.Date(2026, 11, 24, 2, 0, 0, 0, time.UTC)
	b.Exec(`INSERT INTO events (kind, at, detail) SELECT 'early.event', $1::timestamptz, '{}' FROM generate_series(1, 3)`, at)
	b.Exec(`INSERT INTO events (kind, at, detail) SELECT 'late.event', $1::timestamptz, jsonb_build_object('said', 'Disk Full') FROM generate_series(1, 700)`, at.Add(time.Hour))
	w := b.as(ivyToken)
	from := "/events?from=" + url.QueryEscape(at.Add(time.Minute).Format("2006-01-02T15:04"))
	require.NotContains(t, w.contains(from, "late.event", "Save as a file"), "early.event")
	w.contains("/events?text=disk+full", "late.event")
	require.NotContains(t, w.get("/events?text=disk+empty").Body, "late.event")
	w.contains("/events", `<option value="instance.">`, `<option value="instance.ended">`)
	require.Equal(t, http.StatusBadRequest, w.get("/events?from=yesterday").Status)

	saved := w.get(strings.Replace(from, "/events", "/events/export", 1))
	require.Equal(t, http.StatusOK, saved.Status)
	require.Equal(t, "application/x-ndjson", saved.Header.Get("Content-Type"))
	require.Contains(t, saved.Header.Get("Content-Disposition"), "attachment")
	lines := strings.Split(strings.TrimSpace(saved.Body), "\n")
	require.Len(t, lines, 700, "more than a page")
	require.Contains(t, lines[0], `"cursor":"`)
	require.NotContains(t, saved.Body, "early.event")
}

// Pins a search that finds whole ids only, and one that shows markup.
func TestAnyIDIsFoundByItsBeginning(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.AddServer("arena-1", 8, func(r *db.Registration) { r.Capacity = 64 })
	b.AddServer("arena-2", 8)
	placed := b.place("duel", "arthur")
	w := b.as(ivyToken)
	w.contains("/find?q=ar", "Game servers", `href="/instances/arena-1"`, `href="/instances/arena-2"`, "Players", `href="/players?q=arthur"`)
	leads := func(text, path string) {
		found := w.get("/find?q=" + url.QueryEscape(text))
		require.Equal(t, http.StatusSeeOther, found.Status, text)
		require.Equal(t, path, found.Header.Get("Location"), text)
	}
	leads("arena-2", instancePath("arena-2"))
	leads("arth", playerPath("arthur"))
	leads(placed.SessionID[:len(placed.SessionID)-4], sessionPath(placed.SessionID))
	leads("nobody", playerPath("nobody"))
	leads("a", playerPath("a"))
}

// Pins a navigation with pages that stay empty, and one that hides a page that is used.
func TestTheNavigationShowsWhatIsUsed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	w := b.as(adaToken)
	page := w.contains("/health", `href="/fleet"`)
	for _, path := range []string{"/agents", "/rooms", "/lobbies", "/deployments"} {
		require.NotContains(t, page, `<li><a href="`+path+`"`)
		require.Contains(t, w.get(path).Body, `<li><a href="`+path+`"`, "the page that is shown")
	}
	b.agents(1, "rooms")
	b.deployments(1, "")
	b.console.usage.readAt = time.Time{}
	page = w.get("/health").Body
	require.Contains(t, page, `<li><a href="/agents"`)
	require.Contains(t, page, `<li><a href="/deployments"`)
	require.NotContains(t, page, `<li><a href="/lobbies"`)
}
