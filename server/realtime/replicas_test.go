package realtime

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// pair starts two replicas on one database.
func pair(t *testing.T, change ...func(*Options)) (a, b *served) {
	t.Helper()
	a = serve(t, change...)
	return a, serveOn(t, a.database.URL, change...)
}

func withCodec(name string) func(*realtimetest.Options) {
	return func(o *realtimetest.Options) { o.Codecs = []string{name} }
}

// counter returns the counter of the counter room that a client sees.
func counter(r *realtimetest.Room) float64 {
	n, _ := r.State["counter"].(float64)
	return n
}

// history returns the types of what a client was sent about a room, and the answers to its RPCs.
func history(c *realtimetest.Client, room string) (list []string) {
	for _, e := range c.HeardEvents() {
		if e.Room == room || e.Type == "rpc.response" {
			list = append(list, e.Type)
		}
	}
	return list
}

// Nexis' own cadence makes its SDK ask for 180 resyncs in such a burst.
func TestABurstOfChangesIsOneSequenceOnBothReplicas(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sender, far := a.client(withCodec("msgpack")), b.client(withCodec("json"))
	near := a.client(withCodec("json"))
	const room = "counter_plugin_room:default"
	for _, c := range []*realtimetest.Client{sender, near, far} {
		require.Equal(t, room, c.Join(t, "counter_plugin_room", "", nil))
	}
	for range 200 {
		sender.Tell(t, room, "inc", map[string]any{"by": float64(1)})
	}
	var sequences [][]realtimetest.Event
	for _, c := range []*realtimetest.Client{sender, near, far} {
		c.Wait(t, "the last change", func(v *realtimetest.View) bool {
			return counter(v.Room(room)) == 200 && v.Count("room.message", room) == 200
		})
		require.Zero(t, c.Resyncs())
		require.Equal(t, 1, c.Room(room).Snapshots)
		sequences = append(sequences, c.EventsOf("room.message", room))
	}
	require.Equal(t, sequences[0], sequences[1])
	require.Equal(t, sequences[0], sequences[2], "members on the other replica see the same sequence")
}

func TestAPatchComesBeforeTheMessagesOfItsChange(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const room = "counter_plugin_room:default"
	near, far := a.client(), b.client()
	near.Join(t, "counter_plugin_room", "", nil)
	far.Join(t, "counter_plugin_room", "", nil)
	near.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{"by": float64(3)}})
	for _, c := range []*realtimetest.Client{near, far} {
		c.Wait(t, "the message", func(v *realtimetest.View) bool { return v.Count("room.message", room) == 1 })
		sent := history(c, room)
		require.Less(t, slices.Index(sent, "state.patch"), slices.Index(sent, "room.message"))
		require.InDelta(t, 3, c.Room(room).State["counter"], 0)
	}
}

// Actions of one session may be under way together, as the SDK's send has no answer to wait for.
func TestMessagesOfASessionKeepTheirOrder(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	sender, far := a.client(), b.client()
	room := sender.Join(t, "chat", "", nil)
	far.Join(t, "chat", "", nil)
	const n = 300
	for i := range n {
		sender.Tell(t, room, "say", float64(i))
	}
	for _, c := range []*realtimetest.Client{sender, far} {
		c.Wait(t, "the messages", func(v *realtimetest.View) bool { return v.Count("room.message", room) == n })
		for i, e := range c.EventsOf("room.message", room) {
			require.InDelta(t, i, e.P["data"], 0)
		}
	}
}

func TestTheOrderOfAJoinAndOfALeave(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const room = "echo_room:default"
	first, second := a.client(), b.client()
	first.Join(t, "echo_room", "", nil)
	require.Equal(t, []string{"rpc.response", "room.joined", "room.members", "state.snapshot"}, history(first, room))
	second.Join(t, "echo_room", "", nil)
	require.Equal(t, []string{"rpc.response", "room.joined", "room.members", "state.snapshot"}, history(second, room))
	both := []string{first.SessionID(), second.SessionID()}
	slices.Sort(both)
	first.Wait(t, "the other", func(v *realtimetest.View) bool { return slices.Equal(v.Room(room).Members, both) })
	require.Equal(t, []string{"room.joined", "room.members"}, history(first, room)[4:])
	second.Leave(t, room)
	first.Wait(t, "the other to leave", func(v *realtimetest.View) bool { return len(v.Room(room).Members) == 1 })
	require.Equal(t, []string{"room.left", "room.members"}, history(first, room)[6:])
	require.Equal(t, []string{"rpc.response", "room.joined", "room.members", "state.snapshot", "rpc.response"},
		history(second, room), "who leaves hears no more")
}

func TestAMemberThatJoinsAgainIsSentASnapshot(t *testing.T) {
	t.Parallel()
	v := serve(t)
	c, other := v.client(), v.client()
	room := c.Join(t, "counter_plugin_room", "", nil)
	other.Join(t, "counter_plugin_room", "", nil)
	c.Must(t, "room.join_or_create", room, map[string]any{"roomType": "counter_plugin_room"})
	c.Wait(t, "a second snapshot", func(v *realtimetest.View) bool { return v.Room(room).Snapshots == 2 })
	c.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	other.Wait(t, "the change", func(v *realtimetest.View) bool { return counter(v.Room(room)) == 1 })
	require.Equal(t, 1, slices.Index(history(other, room), "room.joined"), "its own join")
	require.NotContains(t, history(other, room)[2:], "room.joined", "nobody else hears of a join that changes nothing")
}

// A reconnect often beats the close of the old connection; it works on any replica, and right after a close, too.
func TestASessionIsResumedOnAnotherReplica(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]func(*realtimetest.Client){
		"after a close": (*realtimetest.Client).Close, "after a drop": (*realtimetest.Client).Drop,
		"while it is connected": func(*realtimetest.Client) {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := pair(t)
			stays, moves := a.client(), a.client()
			room := stays.Join(t, "counter_plugin_room", "", nil)
			moves.Join(t, "counter_plugin_room", "", nil)
			id := moves.SessionID()
			part(moves)
			require.NoError(t, moves.Reconnect(t.Context(), b.address()))
			require.True(t, moves.Resumed())
			require.Equal(t, id, moves.SessionID())
			moves.Wait(t, "its room", func(v *realtimetest.View) bool { return v.Room(room).Snapshots == 2 })
			sent := history(moves, room)
			second := 4 + slices.Index(sent[4:], "state.snapshot")
			require.Equal(t, []string{"room.reconnected", "room.members"}, sent[second-2:second])
			stays.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
			moves.Wait(t, "a change of the other",
				func(v *realtimetest.View) bool { return counter(v.Room(room)) == 1 })
			moves.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
			stays.Wait(t, "a change of the session",
				func(v *realtimetest.View) bool { return counter(v.Room(room)) == 2 })
			require.Len(t, stays.Room(room).Members, 2)
		})
	}
}

// The old replica finds out by itself, when the session acts or with the news of all sessions.
func TestATakeoverClosesTheOldConnection(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	c := a.client()
	room := c.Join(t, "counter_plugin_room", "", nil)
	thief, err := realtimetest.Connect(t.Context(),
		realtimetest.Options{URL: b.address(), Project: "p1", Session: c.SessionID()})
	require.NoError(t, err)
	t.Cleanup(thief.Drop)
	require.True(t, thief.Resumed())
	c.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() == delivery.CloseSuperseded })
	thief.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
}

func TestARevokedKeyClosesConnectionsOnAllReplicas(t *testing.T) {
	t.Parallel()
	a, b := pair(t, func(o *Options) { o.AuthMode = AuthRequired })
	tok := a.key("p1", "k1")
	signed := func(o *realtimetest.Options) { o.Token = tok }
	first, second := a.client(signed), b.client(signed)
	_, err := a.store.RevokeProjectKey(t.Context(), "p1", "k1", "test")
	require.NoError(t, err)
	for _, c := range []*realtimetest.Client{first, second} {
		c.Wait(t, "the close", func(v *realtimetest.View) bool { return v.Closed() == delivery.CloseKey })
	}
}

// mute makes a store whose notices nobody receives.
func mute(c *db.Config) { c.Pooler, c.DirectURL = "pgbouncer", "" }

func TestWithoutNotificationsMembersConverge(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a := serveStore(t, url, storetest.Open(t, url, mute))
	b := serveStore(t, url, storetest.Open(t, url, mute))
	near, far := a.client(), b.client()
	room := near.Join(t, "counter_plugin_room", "", nil)
	far.Join(t, "counter_plugin_room", "", nil)
	for range 5 {
		near.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	}
	far.Wait(t, "the changes", func(v *realtimetest.View) bool {
		return counter(v.Room(room)) == 5 && v.Count("room.message", room) == 5
	})
	require.Equal(t, near.EventsOf("room.message", room), far.EventsOf("room.message", room))
	require.Zero(t, far.Resyncs())
	require.Equal(t, 1, far.Room(room).Snapshots, "the log was enough")
	near.Wait(t, "the join of the other", func(v *realtimetest.View) bool { return len(v.Room(room).Members) == 2 })
}

// After a crash of Postgres the log is empty, and positions are as they were.
func TestWithAnEmptyLogMembersAreSentSnapshots(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	a := serveStore(t, url, storetest.Open(t, url, mute))
	b := serveStore(t, url, storetest.Open(t, url, mute))
	near, far := a.client(), b.client()
	room := near.Join(t, "counter_plugin_room", "", nil)
	far.Join(t, "counter_plugin_room", "", nil)
	for range 3 {
		near.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	}
	a.database.Exec("TRUNCATE lobby_log")
	near.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	far.Wait(t, "the state", func(v *realtimetest.View) bool {
		return counter(v.Room(room)) == 4 &&
			len(v.Room(room).Members) == 2
	})
	near.Wait(t, "the members", func(v *realtimetest.View) bool { return len(v.Room(room).Members) == 2 })
	require.Zero(t, far.Resyncs(), "the replica finds the gap, not the client")
	far.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	near.Wait(t, "a later change", func(v *realtimetest.View) bool { return counter(v.Room(room)) == 5 })
}

// crowd connects clients to the replicas in turn.
func crowd(n int, replicas ...*served) []*realtimetest.Client {
	clients := make([]*realtimetest.Client, n)
	for i := range clients {
		clients[i] = replicas[i%len(replicas)].client()
	}
	return clients
}

// The lists that n joins at once cause have to grow with n, not with its square.
func TestJoinsAtOnceCauseFewLists(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	const n = 100
	clients := crowd(n, a, b)
	const room = "echo_room:crowded"
	answers := make([]func() (realtimetest.Response, error), n)
	for i, c := range clients {
		_, answers[i] = c.Begin(t.Context(), "room.join_or_create", room, map[string]any{"roomType": "echo_room"})
	}
	for _, answer := range answers {
		r, err := answer()
		require.NoError(t, err)
		require.True(t, r.OK(), "%v", r)
	}
	lists := 0
	for i, c := range clients {
		c.Wait(t, fmt.Sprintf("all members at client %d", i), func(v *realtimetest.View) bool {
			r := v.Room(room) // nil until a frame of the room has arrived, behind the answer
			return r != nil && len(r.Members) == n
		})
		for _, e := range c.HeardEvents() {
			if e.Type == "room.members" {
				lists++
			}
		}
	}
	require.Less(t, lists, n*n/4, "lists to all clients")
}

// Pins a delivery that nobody can see: how long changes take to their members is measured on both replicas, and only
// for changes.
func TestDeliveryIsMeasured(t *testing.T) {
	t.Parallel()
	a, b := pair(t)
	near, far := a.client(), b.client()
	room := near.Join(t, "counter_plugin_room", "", nil)
	far.Join(t, "counter_plugin_room", "", nil)
	near.Wait(t, "the other", func(v *realtimetest.View) bool { return len(v.Room(room).Members) == 2 })
	before := a.delivered(t)
	require.Equal(t, 1, b.delivered(t), "its own join")
	for range 3 {
		near.Must(t, "room.message", room, map[string]any{"type": "inc", "data": map[string]any{}})
	}
	for _, c := range []*realtimetest.Client{near, far} {
		c.Wait(t, "the changes", func(v *realtimetest.View) bool { return v.Count("room.message", room) == 3 })
	}
	require.Eventually(t, func() bool { return a.delivered(t) > before && b.delivered(t) > 1 }, patience,
		time.Millisecond)
	near.Must(t, "echo", "", map[string]any{})
	require.LessOrEqual(t, a.delivered(t), before+6, "a patch and a message of each change")
}

// delivered returns how many deliveries a replica has measured.
func (v *served) delivered(t *testing.T) int {
	t.Helper()
	return int(metrictest.Sum(t, metrictest.Registry(v.metrics.hub.Delivery), "director_realtime_delivery_seconds"))
}
