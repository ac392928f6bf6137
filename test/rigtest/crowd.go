package rigtest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk/lobby"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// Crowd is the guests of rooms of the type [CounterRoom]. It is for one goroutine.
type Crowd struct {
	Rig *Rig

	ctx        context.Context //nolint:containedctx // EndAll ends the guests' loops with it
	stopGuests context.CancelFunc
	guestLoops sync.WaitGroup
	Guests     []*Guest

	reconnectURLs []string // the listeners that all guests know
}

// Guest is a player with the client of sdk/lobby, who increments the counter of a room again and again.
type Guest struct {
	Client *lobby.Client

	crowd *Crowd
	Sub   string
	Room  string

	AckedCount, UnknownCount atomic.Int64

	mu         sync.Mutex
	events     []realtimetest.Event
	CloseCodes []websocket.StatusCode // of its connections; -1: without a close frame. Read it after Crowd.EndAll
	ClosedAt   []time.Time
}

// NewCrowd returns a crowd without guests, which will reconnect to these listeners for lobby clients, ws://host:port.
func (r *Rig) NewCrowd(urls ...string) *Crowd {
	ctx, stop := context.WithCancel(r.T.Context())
	c := &Crowd{Rig: r, ctx: ctx, stopGuests: stop, reconnectURLs: urls}
	r.T.Cleanup(c.EndAll)
	return c
}

// EndAll ends the guests' loops. Their connections stay open.
func (c *Crowd) EndAll() {
	c.stopGuests()
	c.guestLoops.Wait()
}

// AddGuest connects a guest to a listener for lobby clients. The guest joins a room and begins to increment its
// counter.
func (c *Crowd) AddGuest(url, room string) *Guest {
	c.Rig.T.Helper()
	g := &Guest{crowd: c, Sub: fmt.Sprint("guest-", len(c.Guests)), Room: room}
	// First the guest's own listener, then the others: a client connects to the first that answers.
	others := slices.DeleteFunc(slices.Clone(c.reconnectURLs), func(u string) bool { return u == url })
	ctx, cancel := context.WithTimeout(c.ctx, time.Minute)
	defer cancel()
	var err error
	g.Client, err = lobby.Connect(ctx, lobby.Options{URLs: append([]string{url}, others...),
		Token: lobby.StaticToken(LobbyToken(g.Sub)), OnEvent: g.noteEvent, MaxBackoff: time.Second})
	require.NoError(c.Rig.T, err)
	c.Rig.T.Cleanup(g.Client.Close)
	_, err = g.Client.Join(ctx, CounterRoom, room, lobby.JoinOptions{})
	require.NoError(c.Rig.T, err)
	c.Guests = append(c.Guests, g)
	c.guestLoops.Go(g.runLoop)
	return g
}

// noteEvent keeps the events that assertions read, in the form in which the strict client keeps them.
func (g *Guest) noteEvent(event lobby.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	presence := func(kind, room, session string) {
		g.events = append(g.events, realtimetest.Event{Type: kind, Room: room, P: map[string]any{"client_id": session}})
	}
	switch e := event.(type) {
	case lobby.Message:
		var data any
		_ = json.Unmarshal(e.Data, &data)
		g.events = append(g.events, realtimetest.Event{Type: "room.message", Room: e.Room,
			P: map[string]any{"type": e.Type, "data": data}})
	case lobby.Dropped:
		presence("room.dropped", e.Room, e.Session)
	case lobby.Reconnected:
		presence("room.reconnected", e.Room, e.Session)
	case lobby.Left:
		presence("room.left", e.Room, e.Session)
	case lobby.Disconnected:
		g.CloseCodes, g.ClosedAt = append(g.CloseCodes, websocket.CloseStatus(e.Err)), append(g.ClosedAt, time.Now())
	case lobby.Connected:
		// Only a first connection begins a session: later ones resume it, also at another replica.
		if !e.Resumed && len(g.CloseCodes) > 0 {
			g.crowd.Rig.T.Errorf("%s was not resumed", g.Sub)
		}
	}
}

// HeardEvents returns the events of rooms that the guest has received.
func (g *Guest) HeardEvents() []realtimetest.Event {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.events)
}

// SessionID returns the id of the guest's session.
func (g *Guest) SessionID() string { return g.Client.Status().Session }

func (g *Guest) runLoop() {
	for g.crowd.ctx.Err() == nil {
		err := g.IncrementOnce()
		switch {
		case err == nil:
			g.AckedCount.Add(1)
		// The increment may have been done: CountIn allows both.
		case errors.Is(err, lobby.ErrUncertain) || lobby.CodeOf(err) == "unavailable":
			g.UnknownCount.Add(1)
		default:
			g.crowd.Rig.T.Errorf("%s: %v", g.Sub, err)
			return
		}
		PauseFor(g.crowd.ctx, 100*time.Millisecond)
	}
}

// IncrementOnce increments the counter of the guest's room, and waits for the answer also when the loop is to end.
func (g *Guest) IncrementOnce() error {
	// Not cut off by EndAll: the outcome would not be known, and CountIn would allow more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(g.crowd.ctx), 30*time.Second)
	defer cancel()
	return g.Client.Room(g.Room).Send(ctx, "inc", map[string]any{})
}

// AwaitCount waits until each of these guests has got n more answers.
func (c *Crowd) AwaitCount(n int64, guests ...*Guest) {
	c.Rig.T.Helper()
	target := map[*Guest]int64{}
	for _, g := range guests {
		target[g] = g.AckedCount.Load() + n
	}
	require.Eventually(c.Rig.T, func() bool {
		return !slices.ContainsFunc(guests, func(g *Guest) bool { return g.AckedCount.Load() < target[g] })
	}, 60*time.Second, 10*time.Millisecond, "guests wait for answers")
}

// CountIn returns the counter of a room, and requires that it agrees with the answers that the guests got.
func (c *Crowd) CountIn(room string) int {
	c.Rig.T.Helper()
	var acked, unknown int64
	for _, g := range c.Guests {
		if g.Room == room {
			acked, unknown = acked+g.AckedCount.Load(), unknown+g.UnknownCount.Load()
		}
	}
	n := QueryOne[int](c.Rig, "SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", room)
	// A lower number would mean that an acknowledged increment was lost.
	require.GreaterOrEqual(c.Rig.T, n, int(acked), "acknowledged increments of %s", room)
	// A higher number would mean that an increment was done twice.
	require.LessOrEqual(c.Rig.T, n, int(acked+unknown), "increments of %s", room)
	return n
}

// Member is a client in a room, a [Guest] or a strict one.
type Member interface {
	SessionID() string
	HeardEvents() []realtimetest.Event
}

// viewOf returns the counter of a room and its members, as a client sees them.
func viewOf(m Member, room string) (counter float64, members []string) {
	switch client := m.(type) {
	case *Guest:
		state := client.Client.Room(room).State()
		state.Decode("counter", &counter)
		return counter, state.Sessions
	case *realtimetest.Client:
		known := client.Room(room)
		counter, _ = known.State["counter"].(float64)
		return counter, known.Members
	}
	return 0, nil
}

// RequireConverged asserts that clients in a room see its counter and its members, within seconds.
func (c *Crowd) RequireConverged(room string, clients ...Member) {
	c.Rig.T.Helper()
	c.RequireSeen(room, c.CountIn(room), clients...)
}

// RequireSeen asserts that clients in a room see this counter and the room's members, within seconds.
func (c *Crowd) RequireSeen(room string, n int, clients ...Member) {
	c.Rig.T.Helper()
	members := QueryOne[[]string](c.Rig, `SELECT array_agg(m.session ORDER BY m.session)
		FROM lobby_members m JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby
		WHERE l.id = $1 AND m.state = 'joined'`, room)
	for _, client := range clients {
		require.Eventually(c.Rig.T, func() bool {
			counter, sessions := viewOf(client, room)
			return counter == float64(n) && slices.Equal(sessions, members)
		}, 30*time.Second, 20*time.Millisecond, "%s is to see %d and %v in %s", client.SessionID(), n, members, room)
	}
}

// ListMembers returns the guests of a room.
func (c *Crowd) ListMembers(room string) (list []Member) {
	for _, g := range c.Guests {
		if g.Room == room {
			list = append(list, g)
		}
	}
	return list
}
