package server_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// sessions reads the sessions of an instance as its game server.
func (b *bundle) sessions(me fields, query ...string) answer {
	b.t.Helper()
	return b.call(b.sessionsRequest(b.t.Context(), me, query...))
}

func (b *bundle) sessionsRequest(ctx context.Context, me fields, query ...string) *http.Request {
	b.t.Helper()
	q := url.Values{}
	for name, value := range me {
		q.Set(name, fmt.Sprint(value))
	}
	for i := 0; i < len(query); i += 2 {
		q.Set(query[i], query[i+1])
	}
	return b.request(http.MethodGet, "/fleet/sessions?"+q.Encode(), nil, header("X-Fleet-Token", fleetToken)).WithContext(ctx)
}

// waitForSessions begins a long poll, and returns when it waits.
func (b *bundle) waitForSessions(me fields, cursor any, waiting int) <-chan answer {
	b.t.Helper()
	r, answers := b.sessionsRequest(b.t.Context(), me, "wait", "60s", "cursor", cursor.(string)), make(chan answer, 1)
	go func() { answers <- b.call(r) }()
	require.Eventually(b.t, func() bool { return b.server.WaitingForSessions() == waiting }, wait, time.Millisecond)
	return answers
}

// The long poll of a game server: at once, after a change, when its time is over.
func TestSessions(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxInFlight = 1 })
	me := b.register("a")
	first := b.sessions(me).ok(http.StatusOK)
	require.Equal(t, fields{"instance_id": "a", "cursor": first["cursor"], "sessions": []any{}}, first)
	require.Equal(t, first, b.sessions(me, "wait", "60s").ok(http.StatusOK), "it knew nothing")
	require.Equal(t, first, b.sessions(me, "wait", "10ms", "cursor", first["cursor"].(string)).ok(http.StatusOK), "its time is over")

	answers := b.waitForSessions(me, first["cursor"], 1)
	session, resolved := b.seat("alice")
	next := (<-answers).ok(http.StatusOK)
	require.NotEqual(t, first["cursor"], next["cursor"])
	opened := next["sessions"].([]any)[0].(map[string]any)
	require.Equal(t, []any{map[string]any{
		"session_id": session["session_id"], "session_handle": session["session_handle"], "mode": "duel", "player_count": 1.0, "max_players": 8.0,
		"opened_at": opened["opened_at"], "players": []any{map[string]any{"sub": "alice", "state": "reserved"}},
	}}, next["sessions"])

	jti := claimsOf(t, resolved["session_token"].(string))["jti"]
	b.fleet("seats", me.with("session_id", session["session_id"]).with("joined", []fields{{"sub": "alice", "jti": jti}})).ok(http.StatusOK)
	joined := b.sessions(me, "wait", "60s", "cursor", next["cursor"].(string)).ok(http.StatusOK)
	require.Equal(t, []any{map[string]any{"sub": "alice", "state": "connected"}}, joined["sessions"].([]any)[0].(map[string]any)["players"])
}

func TestInvalidSessionLists(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, []string{"wait", "instance_id", "incarnation"}, b.sessions(fields{"incarnation": "1"}, "wait", "61s").named())
	b.sessions(fields{"instance_id": "a"}).problem(http.StatusNotFound, "instance_unknown")
	me := b.register("a")
	b.sessions(me, "after", "us."+uuid.NewString()).problem(http.StatusBadRequest, "invalid_request")
	b.call(b.request(http.MethodGet, "/fleet/sessions?instance_id=a", nil)).problem(http.StatusUnauthorized, "unauthorized")
}

// An instance that is replaced while it waits must not wait on; nor does a third call of one instance keep others out.
func TestWaitingForSessionsEnds(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) { c.MaxWaiters = 2 })
	me, other := b.register("a"), b.register("b")
	known := b.sessions(me).ok(http.StatusOK)
	oldest := b.waitForSessions(me, known["cursor"], 1)
	second := b.waitForSessions(me, known["cursor"], 2)
	b.sessions(other, "wait", "60s", "cursor", known["cursor"].(string)).problem(http.StatusServiceUnavailable, "unavailable")
	third := make(chan answer, 1)
	go func() {
		for {
			a := b.sessions(me, "wait", "60s", "cursor", known["cursor"].(string))
			if a.status != http.StatusServiceUnavailable {
				third <- a
				return
			}
			select {
			case <-t.Context().Done():
				return
			case <-time.After(tick): // the oldest may wait for a second
			}
		}
	}()
	require.Equal(t, known, (<-oldest).ok(http.StatusOK), "the third displaced it")
	require.Eventually(t, func() bool { return b.server.WaitingForSessions() == 2 }, wait, tick)

	b.register("a", func(f fields) { f["boot_id"] = "boot-2" })
	(<-second).problem(http.StatusConflict, "superseded")
	(<-third).problem(http.StatusConflict, "superseded")

	waiting := b.waitForSessions(other, known["cursor"], 1)
	began := time.Now()
	b.stop()
	require.Less(t, time.Since(began), 15*time.Second)
	require.Equal(t, known["cursor"], (<-waiting).ok(http.StatusOK)["cursor"], "a stopping replica ends its long polls")
}

// A game server waits at one replica for players who are seated by another.
func TestSessionsAtAnotherReplica(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other := start(t, b.config.db.URL, func(c *config) { c.Access.Keys = b.issuer.Source })
	me := b.register("a")
	known := other.sessions(me).ok(http.StatusOK)
	answers := other.waitForSessions(me, known["cursor"], 1)
	session := b.matchmake("alice", duel).ok(http.StatusOK)
	got := (<-answers).ok(http.StatusOK)
	require.Equal(t, session["session_id"], got["sessions"].([]any)[0].(map[string]any)["session_id"])
}
