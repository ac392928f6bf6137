package faults

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

const (
	lobbyMaster  = "a-master-secret-of-tests"
	lobbyProject = "p1"
	counterRoom  = "counter_plugin_room"
)

// lobbyRig is an installation with replicas of the realtime lobby.
type lobbyRig struct{ *rig }

// replicaOfLobby is a replica with its listener for clients of the lobby.
type replicaOfLobby struct {
	*process

	lobby string // URL
}

// newLobbyRig makes an installation whose leases last three seconds and whose suspended sessions five.
func newLobbyRig(t *testing.T, settings ...string) *lobbyRig {
	t.Helper()
	return &lobbyRig{newRig(t, append([]string{
		"DIRECTOR_REALTIME_MASTER_SECRET=" + lobbyMaster, "DIRECTOR_REALTIME_REQUIRE_KEY=false", "DIRECTOR_REALTIME_CONFORMANCE=true",
		"DIRECTOR_REALTIME_SESSION_TTL=5s", "DIRECTOR_LEASE_TTL=3s",
	}, settings...)...)}
}

func (r *lobbyRig) replica(args ...string) *replicaOfLobby {
	r.t.Helper()
	addr := freeAddr(r.t)
	return &replicaOfLobby{r.serve(append([]string{"--realtime-addr", addr}, args...)...), "ws://" + addr}
}

// lobbyToken returns a token of a player of the project.
func lobbyToken(sub string) string {
	return token.MintProject(token.ProjectSecret(lobbyMaster, lobbyProject), token.ProjectClaims{
		ProjectID: lobbyProject, Subject: sub, IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour),
	})
}

// connect connects a strict client, which fails the test at its end if it was sent anything wrong.
func (r *lobbyRig) connect(at *replicaOfLobby, sub string) *realtimetest.Client {
	r.t.Helper()
	return realtimetest.Dial(r.t, realtimetest.Options{URL: at.lobby, Token: lobbyToken(sub), Late: true})
}

// crowd are guests of one or more rooms that count, and reconnect as the SDK does.
type crowd struct {
	*lobbyRig

	ctx    context.Context //nolint:containedctx // of the guests' loops, which end counts down
	stop   context.CancelFunc
	wg     sync.WaitGroup
	guests []*guest

	mu   sync.Mutex
	urls []string // to reconnect to
}

// guest is a client in a room that counts, whose counter it increments again and again.
type guest struct {
	*realtimetest.Client

	crowd *crowd
	sub   string
	room  string
	turn  int

	acked, unknown, resumes atomic.Int64
	slowest                 atomic.Int64 // nanoseconds of an answer

	mu     sync.Mutex
	closes []websocket.StatusCode // of its connections; -1: without a close frame
	closed []time.Time
}

func (r *lobbyRig) newCrowd(urls ...string) *crowd {
	ctx, stop := context.WithCancel(r.t.Context())
	c := &crowd{lobbyRig: r, ctx: ctx, stop: stop, urls: urls}
	r.t.Cleanup(c.end)
	return c
}

// end ends the guests' loops. Their connections stay open.
func (c *crowd) end() {
	c.stop()
	c.wg.Wait()
}

// add connects a guest, which joins a room and begins to count.
func (c *crowd) add(at *replicaOfLobby, room string) *guest {
	c.t.Helper()
	g := &guest{crowd: c, sub: fmt.Sprint("guest-", len(c.guests)), room: room, turn: len(c.guests)}
	g.Client = c.connect(at, g.sub)
	g.Join(c.t, counterRoom, room, nil)
	c.guests = append(c.guests, g)
	c.wg.Go(g.run)
	return g
}

func (g *guest) run() {
	for g.crowd.ctx.Err() == nil {
		answer, err := g.increment()
		switch {
		case err != nil:
			g.unknown.Add(1)
			g.reconnect()
		case answer.OK():
			g.acked.Add(1)
		case answer.Code() == "unavailable":
			g.unknown.Add(1)
		default:
			g.crowd.t.Errorf("%s: %v", g.sub, answer)
			return
		}
		pause(g.crowd.ctx, 100*time.Millisecond)
	}
}

// increment increments the counter of the guest's room, and waits for the answer also when the loop is to end.
func (g *guest) increment() (realtimetest.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.crowd.ctx), 30*time.Second)
	defer cancel()
	began := time.Now()
	defer func() { g.slowest.Store(max(g.slowest.Load(), int64(time.Since(began)))) }()
	return g.RPC(ctx, "room.message", g.room, map[string]any{"type": "inc", "data": map[string]any{}})
}

// reconnect connects to the replicas in turn until one accepts the guest. Its session has to be resumed.
func (g *guest) reconnect() {
	// A write may fail before the close frame is read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.crowd.ctx), 5*time.Second)
	_ = g.Await(ctx, "the close", func(v *realtimetest.View) bool { return v.Closed() != 0 })
	cancel()
	g.mu.Lock()
	g.closes, g.closed = append(g.closes, g.CloseStatus()), append(g.closed, time.Now())
	g.mu.Unlock()
	for g.crowd.ctx.Err() == nil {
		g.turn++
		if g.Reconnect(g.crowd.ctx, g.crowd.url(g.turn)) != nil {
			pause(g.crowd.ctx, 50*time.Millisecond)
			continue
		}
		if !g.Resumed() {
			g.crowd.t.Errorf("%s was not resumed", g.sub)
		}
		g.resumes.Add(1)
		return
	}
}

func (c *crowd) url(turn int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.urls[turn%len(c.urls)]
}

// await waits until each of these guests has got n more answers.
func (c *crowd) await(n int64, guests ...*guest) {
	c.t.Helper()
	target := map[*guest]int64{}
	for _, g := range guests {
		target[g] = g.acked.Load() + n
	}
	require.Eventually(c.t, func() bool {
		return !slices.ContainsFunc(guests, func(g *guest) bool { return g.acked.Load() < target[g] })
	}, 60*time.Second, 10*time.Millisecond, "guests wait for answers")
}

// counted returns the counter of a room, which has to be what the guests' answers say.
func (c *crowd) counted(room string) int {
	c.t.Helper()
	var acked, unknown int64
	for _, g := range c.guests {
		if g.room == room {
			acked, unknown = acked+g.acked.Load(), unknown+g.unknown.Load()
		}
	}
	n := one[int](c.rig, "SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", room)
	require.GreaterOrEqual(c.t, n, int(acked), "acknowledged increments of %s", room)
	require.LessOrEqual(c.t, n, int(acked+unknown), "increments of %s", room)
	return n
}

// requireConverged asserts that clients in a room see its counter and its members, within seconds.
func (c *crowd) requireConverged(room string, clients ...*realtimetest.Client) {
	c.t.Helper()
	n := c.counted(room)
	members := one[[]string](c.rig, `SELECT array_agg(m.session ORDER BY m.session) FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
		WHERE l.id = $1 AND m.state = 'joined'`, room)
	for _, client := range clients {
		require.Eventually(c.t, func() bool {
			seen := client.Room(room)
			return seen.State["counter"] == float64(n) && slices.Equal(seen.Members, members)
		}, 30*time.Second, 20*time.Millisecond, "%s is to see %d and %v in %s, not %v", client.Session(), n, members, room, client.Room(room))
	}
}

// clients returns the clients of the guests of a room.
func (c *crowd) clients(room string) (list []*realtimetest.Client) {
	for _, g := range c.guests {
		if g.room == room {
			list = append(list, g.Client)
		}
	}
	return list
}

// heard returns the values of the counter that a client was told of, in order.
func heard(c *realtimetest.Client, room string) (values []int) {
	for _, e := range c.Events() {
		if e.Type == "room.message" && e.Room == room {
			data, _ := e.P["data"].(map[string]any)
			n, _ := data["counter"].(float64)
			values = append(values, int(n))
		}
	}
	return values
}

// requireOnce asserts that values rise by one, but for so many steps that rise by more.
func requireOnce(t *testing.T, values []int, gaps int, who string) {
	t.Helper()
	for i, n := range values {
		if i == 0 || n == values[i-1]+1 {
			continue
		}
		require.Greater(t, n, values[i-1], "%s was told twice: %v", who, values)
		gaps--
	}
	require.GreaterOrEqual(t, gaps, 0, "%s missed values while it was connected: %v", who, values)
}

// presence counts what a client was told of a session in a room.
func presence(c *realtimetest.Client, kind, room, session string) (n int) {
	for _, e := range c.Events() {
		if e.Type == kind && e.Room == room && e.Text("client_id") == session {
			n++
		}
	}
	return n
}
