package server_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// ticketCall makes a call about tickets as a player.
func (b *bundle) ticketCall(sub, method, path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(method, "/tickets"+path, body, append([]func(*http.Request){b.as(sub)}, change...)...))
}

// queue creates a ticket and returns its id.
func (b *bundle) queue(sub string, body fields) string {
	b.t.Helper()
	return b.ticketCall(sub, http.MethodPost, "", body).ok(http.StatusCreated)["ticket_id"].(string)
}

func (b *bundle) assign(id, assignment string) {
	b.t.Helper()
	missing := must.Get(b.store.AssignTickets(b.t.Context(), "global",
		db.Assignments{Groups: []db.Assignment{{TicketIDs: []string{id}, EncodedAssignment: []byte(assignment)}}, AllOrNone: true}))(b.t)
	require.Empty(b.t, missing)
}

// assignmentTo is an openmatch.Assignment with this connection of at most 127 bytes.
func assignmentTo(text string) string { return string([]byte{1<<3 | 2, byte(len(text))}) + text }

// profile makes a version of a profile live.
func (b *bundle) profile(name, document string) {
	b.t.Helper()
	b.store.Exec("INSERT INTO profiles (region, name, live) VALUES ('global', $1, 1) ON CONFLICT (region, name) DO UPDATE SET live = profiles.live + 1", name)
	b.store.Exec(`INSERT INTO profile_versions (region, name, version, document, canonical, author)
		SELECT region, name, live, $2, '', 'test' FROM profiles WHERE name = $1`, name, document)
}

const ranked = "name: ranked\nteams: [{name: red, players: 2}, {name: blue, players: 2}]\n"

func TestTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked)
	body := fields{
		"profiles": []string{"ranked"}, "party": []string{"bob", "alice"},
		"attributes": fields{"skill": 1480.5, "maps": []string{"dust"}, "none": nil},
		"players":    fields{"bob": fields{"attributes": fields{"role": "tank"}}},
		"latencies":  fields{"eu": 34, "us": nil},
	}
	created := b.ticketCall("alice", http.MethodPost, "", body).ok(http.StatusCreated)
	id := created["ticket_id"].(string)
	require.Equal(t, fields{
		"ticket_id": id, "state": "queued", "version": 1.0, "profiles": []any{"ranked"}, "party": []any{"alice", "bob"},
		"place": 1.0, "estimate": nil,
	}, created)
	require.Equal(t, id, b.ticketCall("bob", http.MethodPost, "",
		body.with("party", []string{"alice", "bob"})).ok(http.StatusOK)["ticket_id"])
	require.Equal(t, id, b.ticketCall("alice", http.MethodPost, "",
		body.with("latencies", nil)).problem(http.StatusConflict, "ticket_exists")["ticket_id"])
	b.ticketCall("carol", http.MethodPost, "",
		fields{"profiles": []string{"ranked"}, "party": []string{"carol", "bob"}}).problem(http.StatusConflict,
		"party_conflict")
	b.ticketCall("eve", http.MethodGet, "/"+id, nil).problem(http.StatusNotFound, "ticket_unknown")
	b.ticketCall("eve", http.MethodDelete, "/"+id, nil).problem(http.StatusNotFound, "ticket_unknown")
	b.ticketCall("alice", http.MethodGet, "/nonsense", nil).problem(http.StatusNotFound, "ticket_unknown")
	b.ticketCall("alice", http.MethodPost, "/"+id+"/accept", nil).problem(http.StatusConflict, "too_late")

	second := b.queue("dave", fields{"profiles": []string{"ranked"}})
	require.Equal(t, "queued", b.ticketCall("bob", http.MethodGet, "/"+id, nil).ok(http.StatusOK)["state"])
	left := b.ticketCall("bob", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
	require.Equal(t, fields{"ticket_id": id, "state": "cancelled", "version": 2.0, "party": []any{"alice", "bob"},
		"reason": "cancelled_by_member", "detail": "a player of the party cancelled it"}, left)
	require.Equal(t, left, b.ticketCall("alice", http.MethodDelete, "/"+id, nil).ok(http.StatusOK), "again: the same")

	b.assign(second, assignmentTo("203.0.113.7:7777"))
	conflict := b.ticketCall("dave", http.MethodDelete, "/"+second, nil).problem(http.StatusConflict, "assigned")
	require.Equal(t, "203.0.113.7:7777", conflict["ticket"].(map[string]any)["endpoint"])
}

// Pins a long poll without a version, which did not wait.
func TestAPollWithoutAVersionWaitsForAChange(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("duel", duelDocument)
	id := b.queue("alice", fields{"profiles": []string{"duel"}})
	require.Equal(t, 1.0, b.ticketCall("alice", http.MethodGet, "/"+id+"?wait=30s&version=0",
		nil).ok(http.StatusOK)["version"], "at once")
	answers := make(chan fields, 1)
	go func() { answers <- b.ticketCall("alice", http.MethodGet, "/"+id+"?wait=30s", nil).ok(http.StatusOK) }()
	require.Eventually(t, func() bool { return b.server.Waiting() == 1 }, 10*time.Second, time.Millisecond)
	require.Empty(t, answers)
	b.ticketCall("alice", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
	left := <-answers
	require.Equal(t, []any{"cancelled", 2.0, "a player of the party cancelled it"},
		[]any{left["state"], left["version"], left["detail"]})
}

// An invalid ticket is refused whole, and every invalid field is named.
func TestInvalidTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	many := fields{}
	for i := range 65 {
		many[strings.Repeat("a", i+1)] = 1
	}
	for field, body := range map[string]fields{
		"attributes.skill":           {"attributes": fields{"skill": true}},
		"attributes.a b":             {"attributes": fields{"a b": 1}},
		"attributes.maps":            {"attributes": fields{"maps": []any{"a", 1}}},
		"attributes.profile":         {"attributes": fields{"profile": []string{"x"}}},
		"attributes":                 {"attributes": many},
		"players.eve":                {"players": fields{"eve": fields{}}},
		"players.alice.attributes.x": {"players": fields{"alice": fields{"attributes": fields{"x": fields{}}}}},
		"party":                      {"party": []string{"bob"}},
		"latencies.eu":               {"latencies": fields{"eu": 10_001}},
		"profiles[0]":                {"profiles": []string{"Ranked"}},
	} {
		require.Contains(t, b.ticketCall("alice", http.MethodPost, "", body).named(), field)
	}
	require.Equal(t, []string{"attributes"}, b.ticketCall("alice", http.MethodPost, "", fields{"attributes": fields{
		"a": strings.Repeat("x", 1000), "b": []string{strings.Repeat("x", 1000), strings.Repeat("y", 1000),
			strings.Repeat("x", 1000), strings.Repeat("y", 1000), strings.Repeat("x", 1000),
			strings.Repeat("y", 1000), strings.Repeat("x", 1000), strings.Repeat("y", 1000)},
	}}).named(), "over 8 KiB")
	require.Equal(t, []string{"wait", "version"},
		b.ticketCall("alice", http.MethodGet, "/x?wait=61s&version=-1", nil).named())
	require.Equal(t, []string{"Last-Event-ID"},
		b.ticketCall("alice", http.MethodGet, "/x/events", nil, header("Last-Event-ID", "x")).named())
}

// A long poll answers at once when the ticket has changed, and waits without a slot of the gate otherwise.
func TestLongPolls(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	id := b.queue("alice", fields{"party": []string{"alice", "bob", "carol"}})
	answers := make(chan answer, 3)
	for _, sub := range []string{"alice", "bob", "carol"} {
		go func() { answers <- b.ticketCall(sub, http.MethodGet, "/"+id+"?wait=60s&version=1", nil) }()
	}
	require.Eventually(t, func() bool { return b.server.Waiting() == 3 }, 30*time.Second, time.Millisecond)
	require.Equal(t, 1.0, b.ticketCall("alice", http.MethodGet, "/"+id+"?wait=60s&version=0",
		nil).ok(http.StatusOK)["version"], "it knew nothing")
	require.Equal(t, 1.0, b.ticketCall("alice", http.MethodGet, "/"+id+"?wait=10ms&version=1",
		nil).ok(http.StatusOK)["version"], "its time is over")
	b.ticketCall("bob", http.MethodDelete, "/"+id, nil).ok(http.StatusOK)
	for range 3 {
		require.Equal(t, "cancelled", (<-answers).ok(http.StatusOK)["state"])
	}
	require.Equal(t, "cancelled", b.ticketCall("bob", http.MethodGet, "/"+id+"?wait=60s&version=2",
		nil).ok(http.StatusOK)["state"], "nothing follows")
}

// events are the events of a ticket's stream, and closed at its end.
func (b *bundle) events(sub, id string, change ...func(*http.Request)) <-chan webtest.Event {
	b.t.Helper()
	request := b.request(http.MethodGet, "/tickets/"+id+"/events", nil,
		append([]func(*http.Request){b.as(sub)}, change...)...)
	a, events := webtest.Events(b.t, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, request)
	require.Equal(b.t, http.StatusOK, a.Status)
	require.Equal(b.t, "text/event-stream", a.Header.Get("Content-Type"))
	return events
}

// A stream has each state in its order, ends after the last, and continues at another replica after this one was
// killed.
func TestEventsOfATicket(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := start(t, b.config.db.URL, func(c *config) { c.Access.Keys = b.issuer.Source })
	other.issuer = b.issuer
	b.profile("ranked", ranked)
	id := b.queue("alice", fields{"profiles": []string{"ranked"}})
	stream := b.events("alice", id)
	require.Equal(t, "queued", webtest.NextEvent(t, stream).Name)
	require.NoError(t, other.store.PauseTickets(t.Context(), "global", []string{id}))
	paused := webtest.NextEvent(t, stream)
	require.Equal(t, []any{"paused", "2", 2.0}, []any{paused.Name, paused.ID, paused.Fields()["version"]})
	b.stop()
	require.Equal(t, webtest.Event{}, webtest.NextEvent(t, stream), "a stopping replica ends its streams")

	require.NoError(t, other.store.ResumeTickets(t.Context(), "global", []string{id}))
	require.NoError(t, other.store.PauseTickets(t.Context(), "global", []string{id}))
	other.assign(id, assignmentTo("203.0.113.7:7777"))
	stream = other.events("alice", id, header("Last-Event-ID", paused.ID))
	var names, ids []string
	for e := webtest.NextEvent(t, stream); e.Name != ""; e = webtest.NextEvent(t, stream) {
		names, ids = append(names, e.Name), append(ids, e.ID)
	}
	require.Equal(t, []string{"queued", "paused", "assigned"}, names)
	require.Equal(t, []string{"3", "4", "5"}, ids)
}

// A stopping replica waits for no long poll.
func TestStoppingWithWaitingPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.queue("alice", fields{})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	waiting := make(chan answer, 1)
	go func() {
		waiting <- b.ticketCall("alice", http.MethodGet, "/"+id+"?wait=60s&version=1", nil,
			func(r *http.Request) { *r = *r.WithContext(ctx) })
	}()
	require.Eventually(t, func() bool { return b.server.Waiting() == 1 }, 30*time.Second, time.Millisecond)
	began := time.Now()
	b.stop()
	require.Less(t, time.Since(began), 15*time.Second)
	require.Equal(t, "queued", (<-waiting).ok(http.StatusOK)["state"])
}

// Tickets are checked against the live version of a profile, which changes while replicas run.
func TestTicketsFollowTheLiveProfile(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked)
	detail := b.ticketCall("alice", http.MethodPost, "",
		fields{"profiles": []string{"rankd"}}).problem(http.StatusNotFound, "profile_unknown")["detail"]
	require.Contains(t, detail, `did you mean "ranked"?`)
	body := fields{"profiles": []string{"ranked"}, "party": []string{"alice", "bob", "carol"}}
	b.ticketCall("alice", http.MethodPost, "", body).problem(http.StatusUnprocessableEntity, "party_too_large")
	b.profile("ranked", "name: ranked\nteams: [{name: red, players: 3}, {name: blue, players: 3}]\nattributes: {skill: {type: number}}\n")
	require.Eventually(t, func() bool {
		return b.ticketCall("alice", http.MethodPost, "", body).status == http.StatusBadRequest
	}, 30*time.Second, 50*time.Millisecond, "now a number is required")
	created := b.ticketCall("alice", http.MethodPost, "",
		body.with("attributes", fields{"skill": 5})).ok(http.StatusCreated)
	require.Equal(t, []any{"alice", "bob", "carol"}, created["party"])
}

// A player sees how long tickets like its own waited, once enough of them were matched.
func TestAnEstimate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.profile("ranked", ranked+"rules: [{near: skill, within: 100}]\n")
	b.profile("rare", "name: rare\nteams: [{name: red, players: 2}]\n")
	require.NoError(t, b.store.PutWaitingTimes(t.Context(), "global", map[string][]db.WaitingTime{
		"ranked": {{UpTo: 1000, P50: time.Second, P90: 2 * time.Second, SampleCount: 20},
			{UpTo: 2000, P50: 18 * time.Second, P90: 55 * time.Second, SampleCount: 200}},
		"rare": {{P50: time.Second, P90: time.Second, SampleCount: 19}},
	}, nil))
	estimate := func(sub, profile string, skill float64) any {
		id := b.queue(sub, fields{"profiles": []string{profile}, "attributes": fields{"skill": skill}})
		return b.ticketCall(sub, http.MethodGet, "/"+id, nil).ok(http.StatusOK)["estimate"]
	}
	require.Equal(t, map[string]any{"p50": 1.0, "p90": 2.0, "samples": 20.0}, estimate("alice", "ranked", 1000))
	require.Equal(t, map[string]any{"p50": 18.0, "p90": 55.0, "samples": 200.0}, estimate("bob", "ranked", 1001))
	require.Equal(t, map[string]any{"p50": 18.0, "p90": 55.0, "samples": 200.0}, estimate("carol", "ranked", 9000))
	require.Nil(t, estimate("dan", "rare", 1000))
}
