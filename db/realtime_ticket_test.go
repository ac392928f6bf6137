package db_test

import (
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/match"
)

// queues configures a store whose sessions queue in the universe.
func queues(c *db.Config) {
	c.Queueing = &db.Queueing{Universe: universe, LeaseTTL: time.Hour,
		EncodeDraft: func(d db.QueueDraft) (db.QueueBody, error) {
			body := fmt.Appendf(nil, "%s %s", d.ProfileName, d.Bucket)
			return db.QueueBody{
				SearchFields: match.Fields{Tags: []string{"profile:" + d.ProfileName}},
				EncodeBody:   func(string, time.Time) []byte { return body }, Bytes: len(body),
			}, nil
		}}
}

func setupQueue(t *testing.T) *nexis { return setupRealtime(t, queues) }

// unqueues is a call by which a session leaves the queue.
func unqueues(o db.OpenedRealtime) db.RealtimeDequeueRequest {
	return db.RealtimeDequeueRequest{Region: lobbyRegion, ProjectID: "p1", Session: epochOf(o), Player: o.PlayerSub}
}

// wants is a call by which a session enters the queue for matches of a size.
func wants(o db.OpenedRealtime, roomType string, size int) db.RealtimeEnqueueRequest {
	return db.RealtimeEnqueueRequest{Region: lobbyRegion, ProjectID: "p1", Session: epochOf(o), Player: o.PlayerSub,
		Queue: lobby.Queue{RoomType: roomType, MatchSize: size}}
}

func (n *nexis) enqueue(e db.RealtimeEnqueueRequest) db.QueuedRealtime {
	n.t.Helper()
	return must.Get(n.EnqueueRealtime(n.t.Context(), e))(n.t)
}

// decided is a match of sessions that wait for two players, and its owner.
func (n *nexis) decided(tickets ...db.QueuedRealtime) (db.MatchOwner, db.NewMatch) {
	n.t.Helper()
	d := db.NewMatch{ID: uuid.New(), Profile: db.RealtimeProfile(2), Version: 1, DecidedAt: time.Now(), Size: 2}
	for _, k := range tickets {
		d.Tickets = append(d.Tickets, db.MatchTicket{ID: k.TicketID,
			Players: []db.MatchPlayer{{Sub: k.PlayerSub, Team: "players"}}})
	}
	return n.takeProfile(d.Profile), d
}

// A match of two sessions makes one room, in its transaction, into which both are invited in the order of the queue;
// nothing else is left of their tickets, and the invitation reaches whoever owns the session next.
func TestAMatchOfSessionsMakesOneRoom(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	first, second := n.enqueue(wants(ada, "duel", 2)), n.enqueue(wants(bo, "duel", 2))
	require.Equal(t, []int{1, 2}, []int{first.QueuePosition, second.QueuePosition})
	owner, d := n.decided(first, second)
	out, err := n.CommitMatches(t.Context(), universe, "", db.HostShare{}, []db.MatchOwner{owner}, []db.NewMatch{d},
		assignmentOf)
	require.NoError(t, err)
	require.Equal(t, db.MatchCommitted, out[0].Kind, "%+v", out[0])
	room := fmt.Sprintf("duel:match:%x", d.ID[:])
	require.Equal(t, []string{room + "|duel|2|t"},
		n.Rows("SELECT id, type, size, private FROM lobbies WHERE match_id = $1", d.ID))
	require.Equal(t, []string{"0|0|2"}, n.Rows(`SELECT (SELECT count(*) FROM realtime_tickets), (SELECT count(*) FROM tickets),
		(SELECT count(*) FROM lobby_members WHERE state = 'invited')`))
	back := n.open(n.client("bo", resuming(bo)))
	require.Len(t, back.Invitations, 1)
	require.Equal(t, []string{ada.SessionID, bo.SessionID}, back.Invitations[0].Participants)
	require.Equal(t, room, back.Invitations[0].RoomID)
	require.Equal(t, 2, back.Invitations[0].MatchSize)

	again, err := n.CommitMatches(t.Context(), universe, "", db.HostShare{}, []db.MatchOwner{owner}, []db.NewMatch{d},
		assignmentOf)
	require.NoError(t, err)
	require.Equal(t, db.MatchTicketsGone, again[0].Kind)
	require.Equal(t, 1, one[int](n.bundle, "SELECT count(*) FROM lobbies"))
	n.RequireInvariants()
}

// The same room type, size and attributes again keep the place; others replace the ticket. Pins a session that asked for
// other attributes, and waited with those before.
func TestASessionWaitsOnce(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada, bo := n.open(n.client("ada")), n.open(n.client("bo"))
	first := n.enqueue(wants(ada, "duel", 2))
	n.enqueue(wants(bo, "duel", 2))
	again := n.enqueue(wants(ada, "duel", 2))
	require.Equal(t, first, again)
	withMap := func(attributes string) db.RealtimeEnqueueRequest {
		e := wants(ada, "duel", 2)
		e.Queue.Attributes = json.RawMessage(attributes)
		return e
	}
	require.Equal(t, first, n.enqueue(withMap(`{"map": null}`)), "null is absent")
	onDust := n.enqueue(withMap(`{"map": "dust", "skill": 1200}`))
	require.NotEqual(t, first.TicketID, onDust.TicketID)
	require.Equal(t, onDust, n.enqueue(withMap(`{"skill":1200.0,"map":"dust"}`)), "in another order and form")
	require.Equal(t, 2, onDust.QueuePosition)
	first = n.enqueue(wants(ada, "duel", 2))
	require.NotEqual(t, first.TicketID, onDust.TicketID)
	other := n.enqueue(wants(ada, "duel", 4))
	require.NotEqual(t, first.TicketID, other.TicketID)
	require.Equal(t, 1, other.QueuePosition)
	require.Equal(t, 1, n.enqueue(wants(bo, "duel", 2)).QueuePosition)
	require.Equal(t, 2, one[int](n.bundle, "SELECT count(*) FROM tickets"))
	require.Equal(t, "cancelled member_queued_elsewhere", n.state(first.TicketID))
	removed, err := n.DequeueRealtime(t.Context(), unqueues(ada))
	require.NoError(t, err)
	require.True(t, removed)
	removed, err = n.DequeueRealtime(t.Context(), unqueues(ada))
	require.NoError(t, err)
	require.False(t, removed)
	n.RequireInvariants()
}

// A session that queues on two replicas at a time, both of which believe to own it, has one ticket: the older epoch
// changes nothing.
func TestOneTicketOnTwoReplicas(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	other := n.Replica(queues)
	was := n.open(n.client("ada"))
	now := n.open(n.client("ada", resuming(was)))
	require.Equal(t, was.SessionID, now.SessionID)
	var calls sync.WaitGroup
	var late, current error
	calls.Go(func() { _, late = other.EnqueueRealtime(t.Context(), wants(was, "duel", 4)) })
	calls.Go(func() { _, current = n.EnqueueRealtime(t.Context(), wants(now, "duel", 2)) })
	calls.Wait()
	require.NoError(t, current)
	require.True(t, fault.Is(late, fault.Superseded), "%v", late)
	_, err := other.DequeueRealtime(t.Context(), unqueues(was))
	require.True(t, fault.Is(err, fault.Superseded), "%v", err)
	require.Equal(t, []string{"2"}, n.Rows("SELECT size FROM realtime_tickets"))
	require.Equal(t, 1, one[int](n.bundle, "SELECT count(*) FROM tickets"))
	n.RequireInvariants()
}

// A suspended session is in no match, and has its old place when it is back.
func TestATicketIsPausedWithItsSession(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada, bo, cy := n.open(n.client("ada")), n.open(n.client("bo")), n.open(n.client("cy"))
	first, second := n.enqueue(wants(ada, "duel", 2)), n.enqueue(wants(bo, "duel", 2))
	n.enqueue(wants(cy, "duel", 2))
	n.suspend(true, ada)
	require.Equal(t, "paused", n.state(first.TicketID))
	owner, d := n.decided(first, second)
	out, err := n.CommitMatches(t.Context(), universe, "", db.HostShare{}, []db.MatchOwner{owner}, []db.NewMatch{d},
		assignmentOf)
	require.NoError(t, err)
	require.Equal(t, []string{first.TicketID}, out[0].GoneTickets)
	back := n.open(n.client("ada", resuming(ada)))
	require.Equal(t, first.TicketID, back.TicketID)
	require.Equal(t, "queued", n.state(first.TicketID))
	require.Equal(t, 1, n.enqueue(wants(back, "duel", 2)).QueuePosition)
	out, err = n.CommitMatches(t.Context(), universe, "", db.HostShare{}, []db.MatchOwner{owner}, []db.NewMatch{d},
		assignmentOf)
	require.NoError(t, err)
	require.Equal(t, db.MatchCommitted, out[0].Kind, "%+v", out[0])
	n.RequireInvariants()
}

// A session that ends takes its ticket along.
func TestATicketLeavesWithItsSession(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	n.steady(n.replica)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	n.suspend(true, ada)
	n.age(ada, time.Hour)
	ended, err := n.EndExpiredRealtime(t.Context(), lobbyRegion)
	require.NoError(t, err)
	require.Equal(t, 1, ended)
	require.Equal(t, "cancelled client_gone", n.state(k.TicketID))
	require.Equal(t, []string{"0|0"}, n.Rows("SELECT (SELECT count(*) FROM tickets), (SELECT count(*) FROM realtime_tickets)"))
	n.RequireInvariants()
}

// A director of Open Match may take the ticket, as any: then a worker makes the room, once, with the server of the
// assignment.
func TestATicketAssignedByADirectorMakesARoom(t *testing.T) {
	t.Parallel()
	n := setupQueue(t)
	ada := n.open(n.client("ada"))
	k := n.enqueue(wants(ada, "duel", 2))
	_, err := n.AssignTickets(t.Context(), universe,
		db.Assignments{Groups: []db.Assignment{{TicketIDs: []string{k.TicketID}, EncodedAssignment: []byte("10.0.0.1:7000")}}, AllOrNone: true})
	require.NoError(t, err)
	var workers sync.WaitGroup
	for range 3 {
		workers.Go(func() {
			_, _ = n.SettleLostTickets(t.Context(), lobbyRegion, 10,
				func(a []byte) (string, error) { return string(a), nil })
		})
	}
	workers.Wait()
	require.Equal(t, []string{"10.0.0.1:7000|1"}, n.Rows(`SELECT state->'server'->>'endpoint', (SELECT count(*) FROM lobby_members WHERE session = $1 AND state = 'invited')
		FROM lobbies`, ada.SessionID))
	require.Zero(t, one[int](n.bundle, "SELECT count(*) FROM realtime_tickets"))
	n.RequireInvariants()
}

// Operators see the built-in profiles and may change them; what they changed stays.
func TestBuiltInProfilesAreMadeOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.NoError(t, b.EnsureRealtimeProfiles(t.Context(), universe))
	all, err := b.Profiles(t.Context(), db.ProfileQuery{Universe: universe, WithRetired: true})
	require.NoError(t, err)
	require.Len(t, all, 15)
	_, err = b.RetireProfile(t.Context(), db.ProfileEdit{Universe: universe, Name: "realtime-16"})
	require.NoError(t, err)
	_, err = b.ApplyProfile(t.Context(), db.ProfileEdit{Universe: universe},
		[]byte("name: realtime-2\nteams: [{name: a, players: 2}]\naccept: {within: 5s}\n"))
	require.NoError(t, err)
	require.NoError(t, b.EnsureRealtimeProfiles(t.Context(), universe))
	all, err = b.Profiles(t.Context(), db.ProfileQuery{Universe: universe})
	require.NoError(t, err)
	require.Len(t, all, 14, "a retired one stays retired")
	p, err := b.Profile(t.Context(), universe, "realtime-2", 0)
	require.NoError(t, err)
	require.Equal(t, 2, p.Version)
}
