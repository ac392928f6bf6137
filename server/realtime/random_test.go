package realtime

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/server/realtime/wire"
)

// keptSeeds are those of runs that have found something.
var keptSeeds = []uint64{2, 17039668395521805186, 2069924980551260097}

// Strict clients do random things on three replicas of one database: they join, leave, count, lose their connection,
// resume here or there, or take their own session over, while replicas are killed, cut off from Postgres and without
// notifications. A member that is always there is told of every change once, in one order; the others miss only what
// happens while they are not connected. In the end all see the room's row.
func TestRandomOperationsOnThreeReplicas(t *testing.T) {
	t.Parallel()
	seeds := slices.Clone(keptSeeds)
	for range 4 {
		seeds = append(seeds, rand.Uint64())
	}
	for _, seed := range seeds {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			w := newCity(t, rand.New(rand.NewPCG(seed, seed)))
			for range 120 {
				w.step()
			}
			w.settle()
		})
	}
}

const cityRooms = 2

// city is three replicas on one database, with clients in rooms that count.
type city struct {
	*town

	proxy    *dbtest.Proxy // of the second replica
	paused   bool
	anchors  []*realtimetest.Client // at the first replica, which is never killed
	citizens []*citizen
}

// citizen is a client that is in any number of rooms.
type citizen struct {
	*realtimetest.Client

	name   string
	inside map[string]bool // as far as its answers say
	calls  sync.WaitGroup

	mu             sync.Mutex
	acked, unknown map[string]int // increments by room
}

func cityRoom(n int) string { return fmt.Sprint("counter_plugin_room:", n) }

func newCity(t *testing.T, random *rand.Rand) *city {
	t.Helper()
	w := &city{town: newTown(t, random)}
	w.proxy = dbtest.NewProxy(t, w.database.URL, nil)
	w.replicas = []*served{serveOn(t, w.database.URL), serveStore(t, w.database.URL, storetest.Open(t, w.proxy.URL)),
		w.muteReplica()}
	// as in production
	w.database.Exec("UPDATE replicas SET steady_since = clock_timestamp() - interval '1 hour'")
	for n := range cityRooms {
		anchor := w.replicas[0].client()
		anchor.Join(t, "counter_plugin_room", cityRoom(n), nil)
		w.anchors = append(w.anchors, anchor)
	}
	for n := range 5 {
		c := &citizen{name: fmt.Sprint("c", n), inside: map[string]bool{}, acked: map[string]int{},
			unknown: map[string]int{}}
		c.Client = w.replicas[n%3].client(withCodec([]string{"json", "msgpack"}[n%2]))
		w.citizens = append(w.citizens, c)
	}
	t.Cleanup(w.resume)
	return w
}

// step is one random operation. Increments are not waited for.
func (w *city) step() {
	w.Helper()
	c, room := w.citizens[w.random.IntN(len(w.citizens))], cityRoom(w.random.IntN(cityRooms))
	switch w.random.IntN(20) {
	case 0, 1, 2:
		w.act(c, room, "room.join_or_create")
	case 3:
		w.act(c, room, "room.leave")
	case 4, 5:
		w.notef("%s drops", c.name)
		c.Drop()
	case 6:
		w.notef("%s closes", c.name)
		c.Close()
	case 7, 8:
		w.resumeSession(c)
	case 9:
		w.notef("pause or resume the second replica's database")
		if w.paused {
			w.resume()
		} else {
			w.paused = true
			w.proxy.Pause()
		}
	case 10:
		w.kill(2, w.muteReplica)
	default:
		w.count(c, room)
	}
}

func (w *city) resume() {
	if w.paused {
		w.paused = false
		w.proxy.Resume()
	}
}

// act joins or leaves, unless the client is not connected, and waits for the outcome.
func (w *city) act(c *citizen, room, kind string) {
	w.Helper()
	if c.CloseStatus() != 0 {
		return
	}
	w.resume()
	answer, _ := w.ask(c.name, c.Client, kind, room, map[string]any{"roomType": "counter_plugin_room"})
	switch {
	case answer == nil || answer.Code() == wire.CodeUnavailable: // it may have happened
	case kind == "room.leave":
		require.Contains(w, []string{"", "not_a_member"}, answer.Code())
	default:
		require.True(w, answer.OK(), "%v", answer)
	}
}

// count increments the counter of a room.
func (w *city) count(c *citizen, room string) {
	if c.CloseStatus() != 0 {
		return
	}
	w.notef("%s counts in %s", c.name, room)
	_, wait := c.Begin(w.Context(), "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	c.calls.Go(func() {
		answer, err := wait()
		c.mu.Lock()
		defer c.mu.Unlock()
		switch {
		case err != nil || answer.Code() == wire.CodeUnavailable:
			c.unknown[room]++
		case answer.OK():
			c.acked[room]++
		default:
			if answer.Code() != "not_a_member" && answer.Code() != "room_not_found" {
				w.Errorf("%v", answer)
			}
		}
	})
}

// resumeSession resumes the session of a client, at any replica, also while it is connected.
func (w *city) resumeSession(c *citizen) {
	w.Helper()
	w.resume()
	w.connect(c.name, c.Client)
}

// muteReplica starts a replica without notifications, which may be killed.
func (w *city) muteReplica() *served {
	return serveStore(w, w.database.URL, storetest.Open(w, w.database.URL, mute))
}

// settle lets everybody come back, and compares what they have seen with the rows.
func (w *city) settle() {
	w.Helper()
	w.resume()
	for _, c := range w.citizens {
		w.resumeSession(c)
		c.calls.Wait()
	}
	for n, anchor := range w.anchors {
		w.settleRoom(cityRoom(n), anchor)
	}
	require.Zero(w, w.database.Count("SELECT count(*) FROM realtime_sessions WHERE owner IS NULL"),
		"everybody is connected")
}

func (w *city) settleRoom(room string, anchor *realtimetest.Client) {
	w.Helper()
	total := w.database.Count("SELECT (state->>'counter')::int FROM lobbies WHERE id = $1", room)
	acked, unknown := 0, 0
	clients := []*realtimetest.Client{anchor}
	for _, c := range w.citizens {
		acked, unknown = acked+c.acked[room], unknown+c.unknown[room]
		clients = append(clients, c.Client)
	}
	require.GreaterOrEqual(w, total, acked, "acknowledged")
	require.LessOrEqual(w, total, acked+unknown)
	members := w.members(room)
	for _, c := range clients {
		if !slices.Contains(members, c.SessionID()) {
			continue
		}
		c.Wait(w, "the state of "+room, func(v *realtimetest.View) bool {
			return counter(v.Room(room)) == float64(total) && slices.Equal(v.Room(room).Members, members)
		})
		require.Zero(w, c.Resyncs())
	}
	anchor.Wait(w, "the last change", func(v *realtimetest.View) bool { return v.Count("room.message", room) >= total })
	changes := anchor.EventsOf("room.message", room)
	require.Len(w, changes, total)
	for i, change := range changes {
		require.Equal(w, i+1, valueOf(change), "%v", changes)
	}
	// What the anchor was told of the others makes sense: who is not there joins, who is away comes back.
	require.Eventually(w, func() bool { return slices.Equal(w.here(room, anchor), w.members(room)) }, patience,
		10*time.Millisecond,
		"%s sees %v in %s, not %v", anchor.SessionID(), w.here(room, anchor), room, w.members(room))
	// What others were told while they were connected, and members, has no gap and nothing twice.
	for _, c := range w.citizens {
		require.Eventually(w, func() bool {
			last, fresh := w.lastOf(room, c)
			return !slices.Contains(members, c.SessionID()) || fresh || last == total
		}, patience, 10*time.Millisecond, "%s was not told of the last changes in %s", c.name, room)
	}
}

func valueOf(e realtimetest.Event) int {
	data, _ := e.P["data"].(map[string]any)
	n, _ := data["counter"].(float64)
	return int(n)
}

// here returns the sessions that are members and connected, by what a member was told.
func (w *city) here(room string, anchor *realtimetest.Client) (ids []string) {
	w.Helper()
	is := map[string]string{}
	for _, e := range anchor.HeardEvents() {
		id, before := e.Text("client_id"), is[e.Text("client_id")]
		if e.Room != room || id == "" {
			continue
		}
		allowed := map[string][]string{"room.joined": {""}, "room.left": {"here", "away"}, "room.dropped": {"here"},
			"room.reconnected": {"here", "away"}}[e.Type]
		require.Contains(w, allowed, before, "%s of %s in %s", e.Type, id, room)
		is[id] = map[string]string{"room.joined": "here", "room.dropped": "away", "room.reconnected": "here"}[e.Type]
	}
	for id, where := range is {
		if where == "here" {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// lastOf returns the last value that a client was told of. fresh: it has joined or come back since.
func (w *city) lastOf(room string, c *citizen) (last int, fresh bool) {
	w.Helper()
	fresh = true // the next value may be any that is later
	for _, e := range c.HeardEvents() {
		switch {
		case e.Room != room:
		case (e.Type == "room.joined" || e.Type == "room.reconnected") && e.Text("client_id") == c.SessionID():
			fresh = true
		case e.Type == "room.message":
			n := valueOf(e)
			if e.P["repeated"] == true && n <= last {
				continue // what it may have missed comes again, marked
			}
			require.Greater(w, n, last, "%s was told twice", c.name)
			require.True(w, fresh || n == last+1, "%s was told of %d after %d", c.name, n, last)
			last, fresh = n, false
		}
	}
	return last, fresh
}

func (w *city) members(room string) []string {
	w.Helper()
	return storetest.Values[string](w.database, `SELECT m.session FROM lobby_members m
		JOIN lobbies l ON l.region = m.region AND l.uid = m.lobby WHERE l.id = $1 AND m.state = 'joined' ORDER BY 1`, room)
}
