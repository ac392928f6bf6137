package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// literalServer is a game server that does exactly what docs/game-servers.md says in "Without it": it remembers no
// tokens and relies on the director to distinguish a retry from a replay.
type literalServer struct {
	*bundle

	me      fields
	accepts int // number of connections so far
}

// connection is a player's connection, on which the player has sent a token.
type connection struct {
	id, sub string
	session any
	plays   bool
}

// connect names the connection, reports the join, and admits the player only after "ok".
func (s *literalServer) connect(token string) connection {
	s.t.Helper()
	s.accepts++
	claims := claimsOf(s.t, token)
	c := connection{id: fmt.Sprint("connection-", s.accepts), sub: claims["sub"].(string), session: claims["sid"]}
	joined := []fields{{"sub": c.sub, "jti": claims["jti"], "connection": c.id}}
	c.plays = s.report(c, fields{"joined": joined}) == "ok"
	return c
}

// close reports that the connection has ended, whether its player was admitted or not.
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

// A token admits one connection. When a second connection with the same token closes, the first one keeps its seat.
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
	require.Equal(t, 1, s.store.Count("SELECT count(*) FROM seats WHERE state = 'connected'"), "the first connection plays on")

	require.Equal(t, "ok", s.close(first))
	s.session("alice", session["session_id"].(string)).problem(http.StatusGone, "session_closed")
}

// When a player reconnects before the broken connection is noticed, the seat moves to the new connection, and the end
// of the old one does not free it.
func TestReconnectBeforeTheOldConnectionEnds(t *testing.T) {
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

// Reports without connection names keep their meaning, for older game servers.
func TestReportsWithoutConnections(t *testing.T) {
	t.Parallel()
	b := setup(t)
	me := b.register("a")
	session, _ := b.seat("alice")
	report := me.with("session_id", session["session_id"])
	for range 2 {
		res := b.fleet("seats", report.with("joined", joined("alice", "j1"))).ok(http.StatusOK)
		require.Equal(t, []string{"alice ok 200"}, results(res), "the second may be a retry")
	}
	res := b.fleet("seats", report.with("left", []string{"alice"}).with("left_connections", nil)).ok(http.StatusOK)
	require.Equal(t, []string{"alice ok 200"}, results(res))
	require.Equal(t, true, res["closed"])
}

// An empty connection name, and names without a matching entry of left, are refused: they would protect no seat.
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
