package peertest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
)

// match is a match or a seat, with the fields of both.
type match struct {
	SessionID string `json:"session_id"`
	Handle    string `json:"session_handle"`
	Endpoint  string
	Token     string `json:"session_token"`
	Players   int    `json:"player_count"`
}

// duel asks for a seat on the game server that Rig.startGameServer registers.
var duel = object{"region": "eu", "mode": "duel"}

// A party gets seats in one session, which a stranger may look at and not enter. The peer's errors have the codes of
// the API.
func seatsPlayers(r *Rig) {
	a := r.serve()
	server := r.startGameServer(a)
	for _, sub := range []string{"alice", "bob", "mallory"} {
		r.player(sub, a)
	}
	party := object{"region": "eu", "mode": "duel", "party": []string{"alice", "bob"}}
	m := ask[match](r, "matchmake", object{"player": "alice", "request": party})
	require.Equal(r.T, 2, m.Players)
	require.Equal(r.T, m, ask[match](r, "matchmake", object{"player": "alice", "request": party}),
		"the seats that they have")
	for _, sub := range []string{"alice", "bob"} {
		connection := ask[match](r, "resolve", object{"player": sub, "handle": m.Handle})
		require.Equal(r.T, "127.0.0.1:7777", connection.Endpoint)
		admission, err := server.Admit(r.T.Context(), connection.Token)
		require.NoError(r.T, err)
		require.Equal(r.T, sub, admission.Sub)
		require.Equal(r.T, m.SessionID, admission.SessionID)
	}
	require.Equal(r.T, m, ask[match](r, "session", object{"player": "mallory", "session": m.SessionID}))
	_, failed := try[match](r, "resolve", object{"player": "mallory", "handle": m.Handle})
	require.Equal(r.T, "no_seat", failed.Code)
	require.Equal(r.T, 403, failed.Status)
	_, failed = try[match](r, "matchmake", object{"player": "alice", "request": object{"region": "eu", "mode": "dule"}})
	require.Equal(r.T, "mode_unknown", failed.Code)
	require.Equal(r.T, "DirectorError", failed.Name)
	_, failed = try[match](r, "matchmake",
		object{"player": "mallory", "request": object{"region": "eu", "mode": "duel", "max_players": 9}})
	require.Equal(r.T, "no_capacity", failed.Code)
}

// A call with awaitServers repeats itself after 409, until a game server registers.
func waitsForServers(r *Rig) {
	a, b := r.serve(), r.serve()
	r.player("alice", a, b)
	r.beginStep("seat", "seat", object{"player": "alice", "request": duel, "awaitServers": true})
	retries := r.awaitRetries("alice", 2)
	require.Equal(r.T, 409, retries[0].Status)
	r.startGameServer(a, b)
	require.NotEmpty(r.T, ask[match](r, "end", object{"id": "seat"}).Token)
}

// The replica answers 503 while Postgres cannot be reached.
func waitsOutAnOutage(r *Rig) {
	direct := r.serve()
	proxy := dbtest.NewProxy(r.T, r.Installation.SQLPool.Config().ConnString(), nil)
	// The last value of a name counts: processes that start from here on connect through the proxy.
	r.Installation.NextEnv = append(r.Installation.NextEnv, "DATABASE_URL="+proxy.URL)
	a := r.serve()
	r.startGameServer(direct)
	r.player("alice", a)
	proxy.Shut()
	begunAt := time.Now()
	r.beginStep("match", "matchmake", object{"player": "alice", "request": duel})
	retries := r.awaitRetries("alice", 2)
	require.Equal(r.T, []any{503, "unavailable", "POST /matchmake"},
		[]any{retries[0].Status, retries[0].Code, retries[0].Call})
	require.NotNil(r.T, retries[0].RetryAfter)
	require.GreaterOrEqual(r.T, time.Since(begunAt).Seconds(), *retries[0].RetryAfter)
	proxy.Open()
	require.NotEmpty(r.T, ask[match](r, "end", object{"id": "match"}).Handle)
}
