package db_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
)

func (n *nexis) say(o db.OpenedRealtime, room, kind, data string) {
	n.t.Helper()
	must.Get(n.actAs(o, room, chats(n.t).HandleMessage(lobby.Message{Session: o.SessionID, Player: o.PlayerSub,
		Type: kind, Data: json.RawMessage(data)})))(n.t)
}

// queuedParty is a party of sessions whose room waits for a match, and its ticket.
func (n *nexis) queuedParty(members ...db.OpenedRealtime) (ticket string) {
	n.t.Helper()
	n.join(members[0], "party", "party:1")
	for _, o := range members[1:] {
		n.say(members[0], "party:1", "invite", `{"player":"`+o.PlayerSub+`"}`)
		n.join(o, "party", "party:1")
	}
	n.say(members[0], "party:1", "queue", `{"room_type":"duel","size":4}`)
	return one[string](n.bundle, "SELECT DISTINCT ticket FROM realtime_tickets")
}

// Pins players that are matched with a client that is gone: its replica was killed, so that nobody suspended the
// session.
func TestTheTicketsOfADeadReplicaArePaused(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	heir := n.beginReplica(n.Store)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	n.silent(n.replica)
	n.steady(heir)
	require.Equal(t, 1, n.endExpiredReplicas())
	require.Equal(t, "queued", n.state(k.TicketID))
	suspended, err := n.SuspendUnowned(t.Context(), lobbyRegion)
	require.NoError(t, err)
	require.Equal(t, 1, suspended)
	require.Equal(t, "paused", n.state(k.TicketID))
	back := n.open(n.client("ada", resuming(ada), at(heir)))
	require.Equal(t, k.TicketID, back.TicketID)
	require.Equal(t, "queued", n.state(k.TicketID))
	n.RequireInvariants()
}

// Pins nine notifications a second of each idle worker: each of them woke all replicas and workers to read the queue.
func TestSweepsThatFindNothingNotifyNobody(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	woken, stop := n.Subscribe(db.TopicQueue, universe)
	defer stop()
	<-woken // the listening connection is made
	for _, sweep := range []func(context.Context, string) (int, error){
		n.SuspendUnowned, n.AnnounceSuspended, n.EndExpiredRealtime,
	} {
		swept, err := sweep(t.Context(), lobbyRegion)
		require.NoError(t, err)
		require.Zero(t, swept)
	}
	select {
	case <-woken:
		t.Fatal("a sweep that found nothing has notified")
	default:
	}
	ada := n.open(n.client("ada"))
	<-woken
	n.suspend(true, ada)
	<-woken
}

// A drain does not let rooms know at once, but no match takes a client that is away.
func TestADrainPausesTicketsAtOnce(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	n.steady(n.replica)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	n.suspend(false, ada)
	require.Equal(t, "paused", n.state(k.TicketID))
	n.age(ada, 6*time.Second)
	announced, err := n.AnnounceSuspended(t.Context(), lobbyRegion)
	require.NoError(t, err)
	require.Equal(t, 1, announced)
	require.Equal(t, "paused", n.state(k.TicketID))
	n.open(n.client("ada", resuming(ada)))
	require.Equal(t, "queued", n.state(k.TicketID))
	n.RequireInvariants()
}

func TestATakeoverKeepsTheTicketInTheQueue(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	back := n.open(n.client("ada", resuming(ada)))
	require.True(t, back.TookOver)
	require.Equal(t, k.TicketID, back.TicketID)
	n.suspend(true, ada)
	require.Equal(t, "queued", n.state(k.TicketID), "the former connection closes late")
	require.Equal(t, 1, one[int](n.bundle, "SELECT count(*) FROM ticket_events"))
}

// Pins `owner IS NOT NULL` of HoldSessionEpochs: a request that comes late, from a connection whose session is
// suspended with the same epoch, queues nobody and cancels nothing.
func TestASuspendedSessionDoesNotQueue(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	k := n.enqueue(wants(bo, "duel", 2))
	n.suspend(true, ada, bo)
	_, err := n.EnqueueRealtime(t.Context(), wants(ada, "duel", 2))
	requireKind(t, fault.Superseded, "session_superseded", err)
	_, err = n.DequeueRealtime(t.Context(), unqueues(bo))
	requireKind(t, fault.Superseded, "session_superseded", err)
	require.Equal(t, "paused", n.state(k.TicketID))
	require.Equal(t, 1, one[int](n.bundle, "SELECT count(*) FROM realtime_tickets"))
	n.RequireInvariants()
}

// Pins a party that is matched while one of its members is away, since another one came back.
func TestATicketOfAPartyWaitsForAllItsMembers(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	ticket := n.queuedParty(ada, bo)
	n.suspend(true, ada)
	require.Equal(t, "paused", n.state(ticket))
	n.suspend(true, bo)
	n.open(n.client("ada", resuming(ada), withBack(t)))
	require.Equal(t, "paused", n.state(ticket), "bo is away")
	n.open(n.client("bo", resuming(bo), withBack(t)))
	require.Equal(t, "queued", n.state(ticket))
	n.RequireInvariants()
}

func withBack(t *testing.T) func(*db.RealtimeRequest) {
	t.Helper()
	return func(o *db.RealtimeRequest) { o.BackAction = chats(t).MarkBack }
}

// Pins a party that waits for ever with a ticket that it no longer has.
func TestAPartyLeavesTheQueueWithAMemberThatEnds(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	n.steady(n.replica)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	ticket := n.queuedParty(ada, bo)
	n.suspend(true, bo)
	n.age(bo, time.Hour)
	require.Equal(t, 1, n.endExpired())
	require.Contains(t, n.state(ticket), "cancelled")
	require.Equal(t, []string{"open|1"}, n.Rows("SELECT state ->> 'phase', members FROM lobbies"))
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM realtime_tickets"))
	n.RequireInvariants()
}

// A ticket in a ready check is not paused with its session: the check decides first. If the ticket is in the queue
// again, a worker pauses it.
func TestATicketThatComesBackFromAReadyCheckIsPaused(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	n.Exec("UPDATE tickets SET pending_at = now()")
	n.suspend(true, ada)
	require.Equal(t, "queued", n.state(k.TicketID))
	pause := func() int {
		t.Helper()
		paused, err := n.PauseForgottenTickets(t.Context(), lobbyRegion, 10)
		require.NoError(t, err)
		return paused
	}
	require.Zero(t, pause(), "it is in the check")
	n.Exec("UPDATE tickets SET pending_at = NULL")
	require.Equal(t, 1, pause())
	require.Equal(t, "paused", n.state(k.TicketID))
	require.Zero(t, pause())
}

// A client of Open Match deletes the ticket of a session, which queues again before a worker has found the loss. The
// rows of the lost ticket must not keep it out of the queue.
func TestASessionQueuesAgainAfterItsTicketWasDeleted(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada := n.open(n.client("ada"))
	lost := n.enqueue(wants(ada, "duel", 2))
	require.NoError(t, n.DeleteTicket(t.Context(), universe, lost.TicketID))
	again := n.enqueue(wants(ada, "duel", 2))
	require.NotEqual(t, lost.TicketID, again.TicketID)
	require.Equal(t, []string{again.TicketID}, n.Rows("SELECT ticket FROM realtime_tickets"))
	require.Equal(t, []string{again.TicketID}, n.Rows("SELECT ticket_id FROM ticket_players"))
	n.RequireInvariants()
}
