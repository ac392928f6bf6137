package sdkts_test

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/nodetest"
)

// scenarios run in Node.js and in Chromium.
var scenarios = map[string]func(*rig){
	"a player and a party are seated":          seatsPlayers,
	"seat waits for the first server":          waitsForServers,
	"calls wait out an outage":                 waitsOutAnOutage,
	"a watch survives its replica":             survivesReplica,
	"a party waits with one ticket":            queuesParty,
	"an expired access token is replaced":      replacesToken,
	"an aborted call and an aborted watch end": aborts,
	"hostile answers are bounded":              boundsAnswers,
	"a party reaches its game server":          partyReachesItsServer,
	"a lobby starts":                           lobbyStarts,
	"a lobby is found":                         lobbyIsFound,
	"lobby friends see each other":             lobbyFriends,
	"a lobby client survives its replica":      lobbySurvivesReplica,
	"a refused token of the lobby is replaced": lobbyTokens,
}

type node struct{ *nodetest.Script }

func (n node) step(t testing.TB, request, answer any) { n.Ask(t, request, answer) }

func TestNodeScenarios(t *testing.T) {
	t.Parallel()
	// Streams that are still open must not keep the process alive.
	script := fmt.Sprintf("process.stdin.on('end', () => process.exit()); const steps = import(%q); const answer = async (request) => (await steps).call(request);",
		"file://"+filepath.Join(built(t), "test", "scenarios.mjs"))
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newRig(t, "", node{nodetest.Start(t, script)}))
		})
	}
}

type page struct{ *chromiumtest.Page }

func (p page) step(t testing.TB, request, answer any) {
	p.Call(t, "async (request) => (await import('/test/scenarios.mjs')).call(request)", request, answer)
}

func TestChromiumScenarios(t *testing.T) {
	t.Parallel()
	browser, web := chromiumtest.Start(t), serveSite(t)
	for name, run := range scenarios {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			run(newRig(t, web.URL, page{browser.Page(t, web.URL+"/page")}))
		})
	}
}

type match struct {
	SessionID string `json:"session_id"`
	Handle    string `json:"session_handle"`
	Endpoint  string
	Token     string `json:"session_token"`
	Players   int    `json:"player_count"`
}

var duel = object{"region": "eu", "mode": "duel"}

func seatsPlayers(r *rig) {
	a := r.serve()
	server := r.gameServer(a)
	for _, sub := range []string{"alice", "bob", "mallory"} {
		r.player(sub, a)
	}
	party := object{"region": "eu", "mode": "duel", "party": []string{"alice", "bob"}}
	m := ask[match](r, "matchmake", object{"player": "alice", "request": party})
	require.Equal(r, 2, m.Players)
	require.Equal(r, m, ask[match](r, "matchmake", object{"player": "alice", "request": party}), "the seats that they have")
	for _, sub := range []string{"alice", "bob"} {
		connection := ask[match](r, "resolve", object{"player": sub, "handle": m.Handle})
		require.Equal(r, "127.0.0.1:7777", connection.Endpoint)
		admission, err := server.Admit(r.Context(), connection.Token)
		require.NoError(r, err)
		require.Equal(r, sub, admission.Sub)
		require.Equal(r, m.SessionID, admission.SessionID)
	}
	require.Equal(r, m, ask[match](r, "session", object{"player": "mallory", "session": m.SessionID}))
	_, failed := try[match](r, "resolve", object{"player": "mallory", "handle": m.Handle})
	require.Equal(r, "no_seat", failed.Code)
	require.Equal(r, 403, failed.Status)
	_, failed = try[match](r, "matchmake", object{"player": "alice", "request": object{"region": "eu", "mode": "dule"}})
	require.Equal(r, "mode_unknown", failed.Code)
	require.Equal(r, "DirectorError", failed.Name)
	_, failed = try[match](r, "matchmake", object{"player": "mallory", "request": object{"region": "eu", "mode": "duel", "max_players": 9}})
	require.Equal(r, "no_capacity", failed.Code)
}

func waitsForServers(r *rig) {
	a, b := r.serve(), r.serve()
	r.player("alice", a, b)
	ask[any](r, "begin", object{"id": "seat", "step": "seat", "args": object{"player": "alice", "request": duel, "awaitServers": true}})
	retries := ask[[]failure](r, "retries", object{"player": "alice", "n": 2})
	require.Equal(r, 409, retries[0].Status)
	r.gameServer(a, b)
	require.NotEmpty(r, ask[match](r, "end", object{"id": "seat"}).Token)
}

// The replica answers 503 while Postgres cannot be reached.
func waitsOutAnOutage(r *rig) {
	direct := r.serve()
	proxy := dbtest.NewProxy(r, r.Pool.Config().ConnString(), nil)
	r.Env = append(r.Env, "DATABASE_URL="+proxy.URL)
	a := r.serve()
	r.gameServer(direct)
	r.player("alice", a)
	proxy.Shut()
	asked := time.Now()
	ask[any](r, "begin", object{"id": "match", "step": "matchmake", "args": object{"player": "alice", "request": duel}})
	retries := ask[[]failure](r, "retries", object{"player": "alice", "n": 2})
	require.Equal(r, []any{503, "unavailable", "POST /matchmake"}, []any{retries[0].Status, retries[0].Code, retries[0].Call})
	require.NotNil(r, retries[0].RetryAfter)
	require.GreaterOrEqual(r, time.Since(asked).Seconds(), *retries[0].RetryAfter)
	proxy.Open()
	require.NotEmpty(r, ask[match](r, "end", object{"id": "match"}).Handle)
}
