package orchestrator

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

func TestHandshake(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, res := v.dial(settingsKey, subprotocol)
	require.Equal(t, subprotocol, ws.Subprotocol())
	require.Empty(t, res.Header.Get("Sec-WebSocket-Extensions"))
	require.Equal(t, uint32(5000), next[wire.Hello](t, ws).HeartbeatMS)
	require.Equal(t, wire.Poll{ReqID: "poll_1", Status: wire.Active}, next[wire.Poll](t, ws))

	ws, _ = v.dial(settingsKey)
	require.Equal(t, settingsKey, ws.Subprotocol(), "Node's client fails unless the server selects a subprotocol")
	next[wire.Hello](t, ws)
	require.Contains(t, v.log.String(), "does not offer the subprotocol")
	require.NotContains(t, v.log.String(), settingsKey)
	require.Positive(t, metrictest.Sum(t, metrictest.Registry(v.metrics.connBytes), "director_agent_bytes_total",
		"direction", "sent"))
}

func TestWrongKeysAreClosedWith4001(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	for _, offer := range [][]string{{"wrong", subprotocol}, {subprotocol, settingsKey}, {subprotocol}, {"wrong"}, {},
		{settingsKey + "x", subprotocol}} {
		ws, _ := v.dial(offer...)
		require.NotNil(t, ws)
		closedWith(t, ws, 4001, "")
	}
	require.NotContains(t, v.log.String(), settingsKey)
}

func TestManyWrongKeysAreThrottledAndARightOneIsNot(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.FailureRate = rest.Rate{PerSecond: 0.001, Burst: 2} }).ready()
	for range 2 {
		ws, _ := v.dial("wrong", subprotocol)
		closedWith(t, ws, 4001, "")
	}
	v.rejects(http.StatusTooManyRequests, "AUTH_THROTTLED", "wrong", subprotocol)
	v.greeted(settingsKey)
}

func (v *served) rejects(status int, cause string, subprotocols ...string) {
	v.t.Helper()
	ws, res := v.dial(subprotocols...)
	require.Nil(v.t, ws)
	require.Equal(v.t, webtest.Answer{Status: status, Header: res.Header,
		Body: `{"status":"rejected","cause":"` + cause + `"}`}, res)
	require.Equal(v.t, "application/json; charset=utf-8", res.Header.Get("Content-Type"))
}

func TestHandshakesBeyondTheLimits(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.MaxAgents = 1 }).ready()
	ws, _ := v.greeted(settingsKey)
	v.rejects(http.StatusServiceUnavailable, "NOT_READY", settingsKey, subprotocol)
	require.NoError(t, ws.CloseNow())
	await.Value(t, v.store.left, "leave")
	require.Eventually(t, func() bool { ws, _ := v.dial(settingsKey, subprotocol); return ws != nil }, patience,
		time.Millisecond)

	for range maxHandshakes { // the previous handshake may still hold its slot
		require.Eventually(t, v.handshakeSlots.Take, patience, time.Millisecond)
	}
	v.rejects(http.StatusServiceUnavailable, "NOT_READY", settingsKey, subprotocol)
}

func TestHandshakesBeforeTheDatabaseIsReached(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.Store.(*accepting).away = true })
	v.rejects(http.StatusServiceUnavailable, "NOT_READY", settingsKey, subprotocol)
	v.store.set(func(a *accepting) { a.away = false })
	v.ready().greeted(settingsKey)
}

func TestRequestsThatAreNoHandshakesGoToTheHandler(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) {
		o.OtherHandler = http.HandlerFunc(func(w http.ResponseWriter,
			r *http.Request) {
			_, _ = io.WriteString(w, r.URL.Path)
		})
	})
	url := "http://" + v.Addr().String() + "/v1/stats"
	require.Equal(t, "/v1/stats", webtest.Send(t, http.DefaultClient, webtest.Request(t, http.MethodGet, url,
		nil)).Body)
}

func TestARevokedKeyClosesItsConnections(t *testing.T) {
	t.Parallel()
	stored := db.AgentKey{ID: uuid.New(), Name: "eu", Digest: sha256.Sum256([]byte(rowKey))}
	v := serve(t, func(o *Options) { o.Store.(*accepting).keys = []db.AgentKey{stored} }).ready()
	revoked, _ := v.greeted(rowKey)
	stays, _ := v.greeted(settingsKey)
	v.store.set(func(a *accepting) { a.keys = nil })
	closedWith(t, revoked, 4001, "")
	ws, _ := v.dial(rowKey, subprotocol)
	closedWith(t, ws, 4001, "")
	require.NoError(t, stays.Ping(stays.CloseRead(t.Context())))
}

func TestBoundKeys(t *testing.T) {
	t.Parallel()
	k := agentKey{boundName: new("eu0"), boundLabels: map[string]string{"region": "eu"}}
	require.NoError(t, k.checkSnapshot(&snapshot{name: "eu0", labels: map[string]string{"region": "eu", "more": ""}}))
	require.EqualError(t, k.checkSnapshot(&snapshot{name: "eu1", labels: map[string]string{"region": "eu"}}),
		"name is not the one that the key is bound to")
	require.EqualError(t, k.checkSnapshot(&snapshot{name: "eu0", labels: map[string]string{"region": "us"}}),
		"labels lacks one that the key is bound to")
	require.Error(t, k.checkSnapshot(&snapshot{name: "eu0"}))
	require.NoError(t, agentKey{}.checkSnapshot(&snapshot{}))
}

func TestValidKeys(t *testing.T) {
	t.Parallel()
	require.NoError(t, ValidKey("abcABC019-_~.!*+"))
	for _, bad := range []string{"short", "sixteen or more, but a space", "base64+needs/the=slash", "",
		"rivalis-fleet.v1", strings.Repeat("ü", 20)} {
		require.Error(t, ValidKey(bad))
	}
}

// A silent agent is evicted, even if its machine has disappeared and the connection is half open.
func TestASilentAgentIsEvicted(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.Heartbeat = 50 * time.Millisecond }).ready()
	ws, id := v.greeted(settingsKey)
	closedWith(t, ws, 4003, "")
	require.Equal(t, id, await.Value(t, v.store.left, "leave").ID)
	require.Equal(t, 1, <-v.store.misses)
}

func TestAnAgentThatOthersTookIsClosed(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, id := v.greeted(settingsKey)
	v.store.set(func(a *accepting) {
		a.own.Changed = []db.OwnAgent{{ID: "unknown", HasLeft: true}, {ID: id, HasLeft: true}}
	})
	v.store.wake <- struct{}{}
	closedWith(t, ws, 4003, "")

	ws, id = v.greeted(settingsKey)
	v.store.set(func(a *accepting) { a.own = db.OwnAgentChanges{IsComplete: true, Changed: []db.OwnAgent{{ID: id}}} })
	v.store.wake <- struct{}{}
	require.Eventually(t, func() bool { v.store.mu.Lock(); defer v.store.mu.Unlock(); return !v.store.own.IsComplete },
		patience, time.Millisecond)
	v.store.set(func(a *accepting) { a.own = db.OwnAgentChanges{IsComplete: true} })
	v.store.wake <- struct{}{}
	closedWith(t, ws, 4003, "")
}

// A replica that another replica has ended closes its connections and continues under a new id.
func TestAnEndedReplicaBeginsAgain(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	before := v.Replica()
	ws, _ := v.greeted(settingsKey)
	v.store.set(func(a *accepting) { a.superseded = true })
	closedWith(t, ws, 4003, "")
	require.Eventually(t, func() bool { return v.Replica() != before }, patience, time.Millisecond)
	v.greeted(settingsKey)
	require.Empty(t, v.store.left, "the ended replica no longer owns its rows")
}

// A replica that stops leaves its rows to other replicas: no agent's row is deleted, and each agent is asked to connect
// elsewhere.
func TestAReplicaThatStopsSendsItsAgentsAway(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, _ := v.greeted(settingsKey)
	id := v.Replica()
	stopped := make(chan error, 1)
	go func() { stopped <- v.stop() }()
	closedWith(t, ws, 4003, "room_destroyed")
	require.NoError(t, await.Value(t, stopped, "end"))
	require.Equal(t, id, <-v.store.ended)
	require.Empty(t, v.store.left)
}

func TestStoppingCutsOffWhatDoesNotEnd(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	v.greeted(settingsKey) // reads nothing more, so that the close handshake does not finish
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorContains(t, v.Stop(ctx), "cut off")
	require.NoError(t, v.stop())
}

func (*accepting) Timing() db.Timing { return db.DefaultTiming() }
