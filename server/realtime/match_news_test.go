package realtime

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/server/realtime/realtimetest"
)

// readyCheck is the document of a profile that asks its players.
const readyCheck = "teams: [{name: red, players: 1}, {name: blue, players: 1}]\naccept: {within: 40s}\n"

// settle tells sessions what became of tickets that left the queue, as workers do, until n sessions are told.
func (v *served) settle(n int) {
	v.t.Helper()
	require.Eventually(v.t, func() bool {
		n -= must.Get(v.store.SettleLostTickets(v.t.Context(), "global", 100, ticketbody.Connection))(v.t)
		return n <= 0
	}, patience, 5*time.Millisecond)
}

// reappears waits until a client was sent an event n times.
func reappears(t *testing.T, c *realtimetest.Client, kind string, n int) {
	t.Helper()
	c.Wait(t, kind, func(v *realtimetest.View) bool { return v.Count(kind, "") >= n })
}

// The players of a profile with a ready check are asked, also after they have resumed elsewhere, until they answer.
func TestPlayersAreAskedWhetherTheyAccept(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	a.database.AddProfile("duel", readyCheck)
	first, second := a.client(), b.client()
	enqueue(t, "duel", first, second)
	var asked any
	for _, c := range []*realtimetest.Client{first, second} {
		p := c.Hear(t, "match.pending").P
		asked = p["match_id"]
		require.Equal(t, "duel", p["room_type"])
		require.Equal(t, float64(2), p["size"])
		require.Positive(t, p["seconds"])
	}
	second.Drop()
	require.NoError(t, second.Reconnect(t.Context(), a.address()))
	require.True(t, second.Resumed())
	reappears(t, second, "match.pending", 2)
	require.Equal(t, "invalid", first.Ask(t, "match.accept", "", map[string]any{"match_id": "x"}).Code())
	for _, rpc := range []string{"match.accept", "match.decline"} {
		require.Equal(t, "too_late", first.Ask(t, rpc, "", map[string]any{"match_id": uuid.NewString()}).Code(), "another match")
	}
	require.Equal(t, false, first.Must(t, "match.accept", "", map[string]any{"match_id": asked})["done"])
	require.Equal(t, true, second.Must(t, "match.accept", "", map[string]any{"matchId": asked})["done"])
	room, _ := found(t, first)
	other, _ := found(t, second)
	require.Equal(t, room, other)
}

// One that declines waits no more, and learns it; the other one waits on at its place.
func TestAPlayerThatDeclinesLeavesTheQueue(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	a.database.AddProfile("duel", readyCheck)
	first, second := a.client(), b.client()
	enqueue(t, "duel", first, second)
	first.Hear(t, "match.pending")
	first.Must(t, "match.accept", "", nil)
	require.Equal(t, true, second.Must(t, "match.decline", "", nil)["done"])
	a.settle(1)
	gone := second.Hear(t, "matchmaking.expired").P
	require.Equal(t, map[string]any{"room_type": "duel", "size": float64(2), "reason": "not_accepted"}, gone)
	require.Equal(t, "not_queued", second.Ask(t, "match.decline", "", nil).Code())
	require.Equal(t, true, first.Must(t, "matchmaking.dequeue", "", nil)["removed"], "the other one waits on")
	require.Empty(t, first.EventsOf("matchmaking.expired", ""))
}

// A ticket expires while its session is away: the session learns it where it is resumed, again wherever it is resumed,
// and not once it queues again.
func TestASessionLearnsElsewhereThatItsTicketHasExpired(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	c := a.client()
	c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "x", "size": float64(3)})
	a.database.Exec("UPDATE tickets SET expires_at = clock_timestamp(), ends_at = clock_timestamp()")
	n, err := a.store.SweepTickets(t.Context(), "global", 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	c.Drop()
	a.settle(1)
	require.NoError(t, c.Reconnect(t.Context(), b.address()))
	require.True(t, c.Resumed())
	require.Equal(t, map[string]any{"room_type": "x", "size": float64(3), "reason": "ttl"}, c.Hear(t, "matchmaking.expired").P)
	c.Drop()
	require.NoError(t, c.Reconnect(t.Context(), a.address()))
	reappears(t, c, "matchmaking.expired", 2)
	c.Must(t, "matchmaking.enqueue", "", map[string]any{"roomType": "x", "size": float64(3)})
	require.Zero(t, a.database.Count("SELECT count(*) FROM realtime_expired"))
}

// match.found comes again with each connection until the client joins the room.
func TestAMatchIsFoundUntilItsRoomIsJoined(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	first, second := a.client(), b.client()
	enqueue(t, "x", first, second)
	room, _ := found(t, first)
	for n, v := range []*served{b, a, b} {
		first.Drop()
		require.NoError(t, first.Reconnect(t.Context(), v.address()))
		reappears(t, first, "match.found", n+2)
	}
	first.Join(t, "x", room, nil)
	first.Drop()
	require.NoError(t, first.Reconnect(t.Context(), a.address()))
	first.Wait(t, "the room", func(v *realtimetest.View) bool { return v.Count("room.reconnected", room) == 1 })
	first.Must(t, "echo", "", nil)
	require.Len(t, first.EventsOf("match.found", ""), 4)
	second.Must(t, "room.leave", room, nil) // declines
	second.Drop()
	require.NoError(t, second.Reconnect(t.Context(), a.address()))
	second.Must(t, "echo", "", nil)
	require.Len(t, second.EventsOf("match.found", ""), 1)
}

// Two sessions of a player cannot wait for one profile: the first one learns that it does not.
func TestASessionLearnsThatItsPlayerQueuesElsewhere(t *testing.T) {
	t.Parallel()
	a, b := matchmaking(t)
	a.database.AddProfile("duel", readyCheck)
	a.key("p1", "k1")
	first, second := a.client(as("ada")), b.client(as("ada"))
	enqueue(t, "duel", first, second)
	require.Equal(t, "member_queued_elsewhere", first.Hear(t, "matchmaking.expired").P["reason"])
	require.Empty(t, second.EventsOf("matchmaking.expired", ""))
}
