package rigtest

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
	// LobbyMaster is the secret of the lobby's tokens.
	LobbyMaster  = "a-master-secret-of-tests"
	lobbyProject = "p1"
	// CounterRoom is the type of rooms that count.
	CounterRoom = "counter_plugin_room"
)

// LobbySettings let guests of a [Crowd] connect.
func LobbySettings() []string {
	return []string{"DIRECTOR_REALTIME_MASTER_SECRET=" + LobbyMaster, "DIRECTOR_REALTIME_REQUIRE_KEY=false",
		"DIRECTOR_REALTIME_CONFORMANCE=true"}
}

// LobbyToken returns a token of a player of the project.
func LobbyToken(sub string) string {
	return token.MintProject(token.ProjectSecret(LobbyMaster, lobbyProject), token.ProjectClaims{
		ProjectID: lobbyProject, Subject: sub, IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour),
	})
}

// ConnectLobby connects a strict client, which fails the test at its end if it was sent anything wrong.
func ConnectLobby(t *testing.T, url, sub string) *realtimetest.Client {
	t.Helper()
	return realtimetest.Dial(t, realtimetest.Options{URL: url, Token: LobbyToken(sub), Late: true})
}

// Crowd is guests of one or more rooms that count, and reconnect as the SDK does. One goroutine uses it.
type Crowd struct {
	*Rig

	ctx    context.Context //nolint:containedctx // of the guests' loops, which end counts down
	stop   context.CancelFunc
	wg     sync.WaitGroup
	Guests []*Guest

	mu   sync.Mutex
	urls []string // to reconnect to
}

// Guest is a client in a room that counts, whose counter it increments again and again.
type Guest struct {
	*realtimetest.Client

	crowd *Crowd
	Sub   string
	Room  string
	turn  int

	Acked, Unknown, Resumes atomic.Int64
	slowest                 atomic.Int64 // nanoseconds of an answer

	mu     sync.Mutex
	Closes []websocket.StatusCode // of its connections; -1: without a close frame. Read it after Crowd.End
	Closed []time.Time
}

// NewCrowd returns a crowd without guests, which will reconnect to these listeners for lobby clients, ws://host:port.
func (r *Rig) NewCrowd(urls ...string) *Crowd {
	ctx, stop := context.WithCancel(r.T.Context())
	c := &Crowd{Rig: r, ctx: ctx, stop: stop, urls: urls}
	r.T.Cleanup(c.End)
	return c
}

// End ends the guests' loops. Their connections stay open.
func (c *Crowd) End() {
	c.stop()
	c.wg.Wait()
}

// Add connects a guest to a listener for lobby clients. It joins a room and begins to count.
func (c *Crowd) Add(url, room string) *Guest {
	c.T.Helper()
	g := &Guest{crowd: c, Sub: fmt.Sprint("guest-", len(c.Guests)), Room: room, turn: len(c.Guests)}
	g.Client = ConnectLobby(c.T, url, g.Sub)
	g.Join(c.T, CounterRoom, room, nil)
	c.Guests = append(c.Guests, g)
	c.wg.Go(g.run)
	return g
}

func (g *Guest) run() {
	for g.crowd.ctx.Err() == nil {
		answer, err := g.Increment()
		switch {
		case err != nil:
			g.Unknown.Add(1)
			g.reconnect()
		case answer.OK():
			g.Acked.Add(1)
		case answer.Code() == "unavailable":
			g.Unknown.Add(1)
		default:
			g.crowd.T.Errorf("%s: %v", g.Sub, answer)
			return
		}
		Pause(g.crowd.ctx, 100*time.Millisecond)
	}
}

// Increment increments the counter of the guest's room, and waits for the answer also when the loop is to end.
func (g *Guest) Increment() (realtimetest.Response, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.crowd.ctx), 30*time.Second)
	defer cancel()
	began := time.Now()
	defer func() { g.slowest.Store(max(g.slowest.Load(), int64(time.Since(began)))) }()
	return g.RPC(ctx, "room.message", g.Room, map[string]any{"type": "inc", "data": map[string]any{}})
}

// reconnect connects to the replicas in turn until one accepts the guest. Its session has to be resumed.
func (g *Guest) reconnect() {
	// A write may fail before the close frame is read.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.crowd.ctx), 5*time.Second)
	_ = g.Await(ctx, "the close", func(v *realtimetest.View) bool { return v.Closed() != 0 })
	cancel()
	g.mu.Lock()
	g.Closes, g.Closed = append(g.Closes, g.CloseStatus()), append(g.Closed, time.Now())
	g.mu.Unlock()
	for g.crowd.ctx.Err() == nil {
		g.turn++
		if g.Reconnect(g.crowd.ctx, g.crowd.url(g.turn)) != nil {
			Pause(g.crowd.ctx, 50*time.Millisecond)
			continue
		}
		if !g.Resumed() {
			g.crowd.T.Errorf("%s was not resumed", g.Sub)
		}
		g.Resumes.Add(1)
		return
	}
}

func (c *Crowd) url(turn int) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.urls[turn%len(c.urls)]
}

// Await waits until each of these guests has got n more answers.
func (c *Crowd) Await(n int64, guests ...*Guest) {
	c.T.Helper()
	target := map[*Guest]int64{}
	for _, g := range guests {
		target[g] = g.Acked.Load() + n
	}
	require.Eventually(c.T, func() bool {
		return !slices.ContainsFunc(guests, func(g *Guest) bool { return g.Acked.Load() < target[g] })
	}, 60*time.Second, 10*time.Millisecond, "guests wait for answers")
}

// Counted returns the counter of a room, which has to be what the guests' answers say.
func (c *Crowd) Counted(room string) int {
	c.T.Helper()
	var acked, unknown int64
	for _, g := range c.Guests {
		if g.Room == room {
			acked, unknown = acked+g.Acked.Load(), unknown+g.Unknown.Load()
		}
	}
	n := One[int](c.Rig, "SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", room)
	require.GreaterOrEqual(c.T, n, int(acked), "acknowledged increments of %s", room)
	require.LessOrEqual(c.T, n, int(acked+unknown), "increments of %s", room)
	return n
}

// RequireConverged asserts that clients in a room see its counter and its members, within seconds.
func (c *Crowd) RequireConverged(room string, clients ...*realtimetest.Client) {
	c.T.Helper()
	n := c.Counted(room)
	members := One[[]string](c.Rig, `SELECT array_agg(m.session ORDER BY m.session) FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
		WHERE l.id = $1 AND m.state = 'joined'`, room)
	for _, client := range clients {
		require.Eventually(c.T, func() bool {
			seen := client.Room(room)
			return seen.State["counter"] == float64(n) && slices.Equal(seen.Members, members)
		}, 30*time.Second, 20*time.Millisecond, "%s is to see %d and %v in %s, not %v", client.Session(), n, members,
			room, client.Room(room))
	}
}

// Clients returns the clients of the guests of a room.
func (c *Crowd) Clients(room string) (list []*realtimetest.Client) {
	for _, g := range c.Guests {
		if g.Room == room {
			list = append(list, g.Client)
		}
	}
	return list
}
