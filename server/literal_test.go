package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// literalServer is a game server that does what docs/game-servers.md says in "Without it", and nothing more: it
// remembers no token, and leaves it to the director to tell a retry from a replay.
type literalServer struct {
	*bundle

	me      fields
	accepts int // connections so far
}

// connection is one that a player opened and showed a token on.
type connection struct {
	id, sub string
	session any
	plays   bool
}

// connect names the connection, reports the join, and lets the player play only after "ok".
func (s *literalServer) connect(token string) connection {
	s.t.Helper()
	s.accepts++
	claims := claimsOf(s.t, token)
	c := connection{id: fmt.Sprint("connection-", s.accepts), sub: claims["sub"].(string), session: claims["sid"]}
	joined := []fields{{"sub": c.sub, "jti": claims["jti"], "connection": c.id}}
	c.plays = s.report(c, fields{"joined": joined}) == "ok"
	return c
}

// close reports that the connection has ended, admitted or not.
func (s *literalServer) close(c connection) (result string) {
	s.t.Helper()
	return s.report(c, fields{"left": []string{c.sub}, "left_connections": []string{c.id}})
}

func (s *literalServer) report(c connection, entries fields) (result string) {
	s.t.Helper()
	maps.Copy(entries, s.me.with("session_id", c.session))
	answer := s.fleet("seats", entries).ok(http.StatusOK)
	return answer["results"].([]any)[0].(map[string]any)["result"].(string)
}

// Pins one token that is good for two connections, the second of which throws the first one's player out when it closes.
func TestATokenOnTwoConnections(t *testing.T) {
	t.Parallel()
	s := &literalServer{bundle: setup(t)}
	s.me = s.register("a")
	session, resolved := s.seat("alice")
	token := resolved["session_token"].(string)

	first := s.connect(token)
	require.True(t, first.plays)
	second := s.connect(token)
	require.False(t, second.plays, "a replay")
	require.Equal(t, "not_holder", s.close(second))
	s.session("alice", session["session_id"].(string)).ok(http.StatusOK)
	require.Equal(t, 1, count(s.bundle, "SELECT count(*) FROM seats WHERE state = 'connected'"), "the first connection plays on")

	require.Equal(t, "ok", s.close(first))
	s.session("alice", session["session_id"].(string)).problem(http.StatusGone, "session_closed")
}

// Pins a player who comes back before the broken connection is noticed: the seat moves, and the old connection's end
// frees nothing.
func TestAPlayerComesBackBeforeTheOldConnectionEnds(t *testing.T) {
	t.Parallel()
	s := &literalServer{bundle: setup(t)}
	s.me = s.register("a")
	session, resolved := s.seat("alice")
	broken := s.connect(resolved["session_token"].(string))
	again := s.resolve("alice", session["session_handle"]).ok(http.StatusOK)
	back := s.connect(again["session_token"].(string))
	require.True(t, back.plays)
	require.Equal(t, "not_holder", s.close(broken))
	require.False(t, s.connect(resolved["session_token"].(string)).plays, "the older token stays used")
	s.session("alice", session["session_id"].(string)).ok(http.StatusOK)
	require.Equal(t, "ok", s.close(back))
	s.session("alice", session["session_id"].(string)).problem(http.StatusGone, "session_closed")
}

// Pins game servers that name no connections: what they send means what it always did.
func TestReportsWithoutConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	report := me.with("session_id", session["session_id"])
	for range 2 {
		res := b.fleet("seats", report.with("joined", joined("alice", "j1"))).ok(http.StatusOK)
		require.Equal(t, []string{"alice ok 200"}, results(res), "it may be a retry")
	}
	res := b.fleet("seats", report.with("left", []string{"alice"}).with("left_connections", nil)).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200"}, results(res))
	require.Equal(t, true, res["closed"])
}

// Pins names that protect nobody: an empty one, and those of nobody who left.
func TestConnectionsAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	report := me.with("session_id", session["session_id"])
	empty := []fields{{"sub": "alice", "jti": "j1", "connection": ""}}
	require.Equal(t, []string{"joined[0].connection"}, b.fleet("seats", report.with("joined", empty)).named())
	left := report.with("left", []string{"alice", "bob"})
	require.Equal(t, []string{"left_connections"}, b.fleet("seats", left.with("left_connections", []string{"c1"})).named())
	require.Equal(t, []string{"left_connections[1]"}, b.fleet("seats", left.with("left_connections", []string{"c1", "c 2"})).named())
}
