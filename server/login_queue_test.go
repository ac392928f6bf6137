package server_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// loginCall makes a call about the login queue as a player.
func (b *bundle) loginCall(sub, method, path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(method, "/login-queue"+path, body, append([]func(*http.Request){b.as(sub)}, change...)...))
}

// valve makes a valve that admits nobody until tokens are there.
func (b *bundle) valve(name string, set db.ValveSettings) {
	b.t.Helper()
	rate, noStaff := 100.0, 0.0
	set.Rate = &rate
	if set.StaffShare == nil {
		set.StaffShare = &noStaff
	}
	must.Get(b.store.As("console:ada").SetValve(b.t.Context(), name, set))(b.t)
	b.tokens(0)
}

// tokens admits so many players who wait, and no more.
func (b *bundle) tokens(n int) {
	b.t.Helper()
	b.store.Exec("UPDATE login_queues SET tokens = $1, staff_tokens = 0, refilled_at = clock_timestamp() + interval '1 hour'", n)
	lines := must.Get(b.store.LoginLines(b.t.Context()))(b.t)
	for _, l := range lines {
		require.NoError(b.t, b.store.AdmitWaiting(b.t.Context(), l.Valve()))
		require.NoError(b.t, b.store.MarkLine(b.t.Context(), l.Valve()))
	}
	must.Get(b.store.LoginLines(b.t.Context()))(b.t)
}

func TestTheLoginQueue(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("arena")
	require.Equal(t, fields{"state": "admitted"}, b.loginCall("alice", http.MethodPost, "", fields{}).ok(http.StatusOK),
		"no valve")
	b.valve("launch", db.ValveSettings{})
	b.loginCall("alice", http.MethodGet, "", nil).problem(http.StatusNotFound, "not_in_login_queue")
	b.loginCall("alice", http.MethodGet, "/events", nil).problem(http.StatusNotFound, "not_in_login_queue")
	first := b.loginCall("alice", http.MethodPost, "", fields{}).ok(http.StatusOK)
	require.Equal(t, "waiting", first["state"])
	require.Equal(t, 1.0, first["position"])
	b.loginCall("bob", http.MethodPost, "", fields{}).ok(http.StatusOK)
	second := b.loginCall("bob", http.MethodGet, "", nil).ok(http.StatusOK)
	require.Equal(t, []any{"waiting", "launch", 2.0, 2.0},
		[]any{second["state"], second["valve"], second["position"], second["waiting"]})
	require.Equal(t, 0.0, second["estimate"].(map[string]any)["expected"], "2 of 100 a second")

	refused := b.matchmake("bob", duel).problem(http.StatusTooManyRequests, "not_admitted")
	require.Equal(t, 2.0, refused["login_queue"].(map[string]any)["position"])
	b.ticketCall("carol", http.MethodPost, "", fields{"party": []string{"carol"}}).problem(http.StatusTooManyRequests,
		"not_admitted")
	require.Equal(t, 3.0, b.loginCall("carol", http.MethodGet, "?wait=1ms", nil).ok(http.StatusOK)["position"],
		"the refused call has a place")

	streaming := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	_, events := webtest.Events(t, streaming, b.request(http.MethodGet, "/login-queue/events", nil, b.as("bob")))
	waiting := webtest.NextEvent(t, events)
	require.Equal(t, "waiting", waiting.Name)
	b.tokens(2)
	for event := waiting; event.Name != "admitted"; event = webtest.NextEvent(t, events) {
		require.Equal(t, "waiting", event.Name)
	}
	b.matchmake("bob", duel).ok(http.StatusOK)
	require.Equal(t, fields{"state": "admitted", "valve": "launch"},
		b.loginCall("alice", http.MethodGet, "?wait=30s", nil).ok(http.StatusOK))

	require.Equal(t, fields{"left": true}, b.loginCall("alice", http.MethodDelete, "", nil).ok(http.StatusOK))
	require.Equal(t, fields{"left": false}, b.loginCall("alice", http.MethodDelete, "", nil).ok(http.StatusOK))
	require.Equal(t, 2.0, b.loginCall("alice", http.MethodPost, "", fields{}).ok(http.StatusOK)["position"],
		"behind carol")
}

// Pins a long poll that answers when its time is over, not when the player is admitted.
func TestALongPollEndsWithTheAdmission(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.valve("launch", db.ValveSettings{})
	b.loginCall("alice", http.MethodPost, "", fields{}).ok(http.StatusOK)
	answered := make(chan answer)
	go func() {
		answered <- b.loginCall("alice", http.MethodGet, "?wait=60s", nil)
	}()
	b.tokens(1)
	require.Equal(t, fields{"state": "admitted", "valve": "launch"}, (<-answered).ok(http.StatusOK))
}

func TestAValveOfABuild(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("arena")
	build := "1.4.2+old"
	b.valve("old", db.ValveSettings{Build: &build})
	old := header("Client-Build", build)
	b.matchmake("alice", duel, old).problem(http.StatusTooManyRequests, "not_admitted")
	require.Equal(t, "old", b.loginCall("alice", http.MethodGet, "", nil, old).ok(http.StatusOK)["valve"])
	b.matchmake("alice", duel).ok(http.StatusOK)
	b.ticketCall("bob", http.MethodPost, "", fields{"party": []string{"bob"}}, old).problem(http.StatusTooManyRequests,
		"not_admitted")
	for _, path := range []string{"", "/events"} {
		b.loginCall("alice", http.MethodGet, path, nil, header("Client-Build", "a b")).problem(http.StatusBadRequest,
			"invalid_request")
		b.loginCall("alice", http.MethodGet, path+"?region=EU", nil).problem(http.StatusBadRequest, "invalid_request")
	}
	b.matchmake("alice", duel, header("Client-Build", "a b")).problem(http.StatusBadRequest, "invalid_request")
}

// The call of a studio's own login, and the tickets that its backend makes.
func TestABackendAsksForPlayers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	share := 0.5
	b.valve("launch", db.ValveSettings{StaffShare: &share})
	b.backend(http.MethodGet, "players/alice/login-queue", nil).problem(http.StatusNotFound, "not_in_login_queue")
	b.backend(http.MethodPost, "players/alice/login-queue", fields{}, ticketsToken).problem(http.StatusForbidden,
		"scope_missing")
	require.Equal(t, "waiting", b.backend(http.MethodPost, "players/alice/login-queue", fields{},
		playersToken).ok(http.StatusOK)["state"])
	require.Equal(t, true, b.backend(http.MethodPost, "players/ada/login-queue",
		fields{"staff": true}).ok(http.StatusOK)["staff"])
	require.Nil(t, b.loginCall("mallory", http.MethodPost, "", fields{"staff": true}).ok(http.StatusOK)["staff"],
		"nobody is staff by its own word")
	b.backend(http.MethodPost, "tickets", fields{"party": []string{"x", "y"}}).problem(http.StatusTooManyRequests,
		"not_admitted")
	require.Equal(t, 5, b.store.Count("SELECT count(*) FROM admissions"), "a backend vouches for each player")
	require.Equal(t, fields{"left": true},
		b.backend(http.MethodDelete, "players/ada/login-queue", nil).ok(http.StatusOK))
	b.tokens(10)
	require.Equal(t, fields{"state": "admitted", "valve": "launch"},
		b.backend(http.MethodGet, "players/alice/login-queue?wait=10s", nil).ok(http.StatusOK))
	b.backend(http.MethodPost, "tickets", fields{"party": []string{"x", "y"}}).ok(http.StatusCreated)
}
