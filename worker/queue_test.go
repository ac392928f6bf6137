package worker

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Pins expired rows that stay forever, and a sweep that deletes rows which are still in use.
func TestQueueIsSwept(t *testing.T) {
	t.Parallel()
	b := setup(t)
	l := loopOf(t, b.options(), "queue")
	require.Empty(t, once(t, l))
	encode := func(id string, _ time.Time) []byte { return []byte(id) }
	var ids []string
	for range 4 {
		ticket, err := b.CreateTicket(t.Context(), "global", db.NewTicket{EncodeBody: encode, TTL: time.Hour})
		require.NoError(t, err)
		ids = append(ids, ticket.ID)
	}
	backfill, err := b.CreateBackfill(t.Context(), "global", db.NewBackfill{EncodeBody: encode})
	require.NoError(t, err)
	_, err = b.AssignTickets(t.Context(), "global", db.Assignments{Groups: []db.Assignment{{TicketIDs: ids[:2], EncodedAssignment: []byte{}}}, AllOrNone: true})
	require.NoError(t, err)
	require.Empty(t, once(t, l))
	b.Exec("UPDATE tickets SET expires_at = clock_timestamp() WHERE id = $1", ids[2])
	b.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '10 minutes' WHERE id = $1", ids[0])
	b.Exec("UPDATE backfills SET acked_at = acked_at - interval '48 seconds'")
	require.Equal(t, Done{"tickets_expired": 1, "tickets_forgotten": 1, "backfills_expired": 1}, once(t, l))
	require.Empty(t, once(t, l))
	_, err = b.GetTicket(t.Context(), "global", ids[1])
	require.NoError(t, err)
	_, err = b.GetTicket(t.Context(), "global", ids[3])
	require.NoError(t, err)
	_, err = b.GetBackfill(t.Context(), "global", backfill.ID)
	require.True(t, fault.Is(err, fault.NotFound))
}

// Pins rows of match cycles that stay forever where Open Match directors call and no tickets wait.
func TestCyclesWithoutTicketsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := db.CycleRef{Region: "global", ReplicaID: uuid.New(), LeaseTTL: time.Minute}
	c, joined, err := b.JoinCycle(t.Context(), ref.Region, ref.ReplicaID, []uuid.UUID{uuid.New()},
		db.NewCycle{CollectionTime: time.Hour, LeaseTTL: ref.LeaseTTL})
	require.NoError(t, err)
	require.True(t, joined)
	ref.ID = c.ID
	require.NoError(t, b.EndCycle(t.Context(), ref, ""))
	l := loopOf(t, b.options(), "queue")
	require.Empty(t, once(t, l))
	b.Exec("UPDATE match_cycles SET ended_at = ended_at - interval '1 hour', lease_until = lease_until - interval '1 hour'")
	require.Equal(t, Done{"cycles_forgotten": 1}, once(t, l))
	require.Zero(t, storetest.One[int](b.DB,
		"SELECT (SELECT count(*) FROM match_cycles) + (SELECT count(*) FROM match_callers)"))
}

// Pins ready checks of a profile that has lost its owner, whose players wait for ever.
func TestReadyChecksWithoutAnOwnerEnd(t *testing.T) {
	t.Parallel()
	b := setup(t)
	owner := db.MatchOwner{Universe: "global", WorkerID: uuid.New(), ProfileName: "duels"}
	require.NoError(t, b.RenewLoopWorker(t.Context(), db.LoopWorker{ID: owner.WorkerID}, time.Hour))
	epochs, err := b.TakeProfiles(t.Context(), "global", owner.WorkerID, []string{"duels"})
	require.NoError(t, err)
	owner.Epoch = epochs["duels"]
	ticket, err := b.CreateTicket(t.Context(), "global",
		db.NewTicket{EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) }})
	require.NoError(t, err)
	m := db.NewMatch{ID: uuid.New(), Profile: "duels", Version: 1,
		Tickets: []db.MatchTicket{{ID: ticket.ID, Players: []db.MatchPlayer{{Sub: "ann"}}}}}
	out, err := b.ProposeMatches(t.Context(), "global", []db.MatchOwner{owner}, []db.NewMatch{m}, time.Minute)
	require.NoError(t, err)
	require.Equal(t, db.MatchProposed, out[0].Kind)
	l := loopOf(t, b.options(), "queue")
	b.Exec("UPDATE matches SET deadline = now()")
	require.Empty(t, once(t, l), "its owner has a while to do it")
	b.Exec("UPDATE matches SET deadline = now() - interval '5 seconds'")
	require.Equal(t, Done{"ready_checks_ended": 1}, once(t, l))
	require.Equal(t, 1, storetest.One[int](b.DB, "SELECT count(*) FROM ticket_events WHERE state = 'declined'"))
}

// Tickets whose profile has retired leave the queue within seconds, whether or not a worker runs the director loop.
func TestTicketsOfARetiredProfileLeave(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, name := range []string{"old", "new"} {
		_, err := b.ApplyProfile(t.Context(), db.ProfileEdit{Universe: "global"},
			[]byte("name: "+name+"\nteams: [{name: red, players: 2}]"))
		require.NoError(t, err)
	}
	var ids []string
	queue := func(sub string, profiles ...string) {
		created, err := b.CreatePlayerTicket(t.Context(), "global", db.PlayerTicketRequest{
			Caller: sub, Party: []string{sub}, ProfileNames: profiles, TTL: time.Hour, RequestHash: []byte(sub),
			EncodeBody: func(id string, _ time.Time) []byte { return []byte(id) },
		})
		require.NoError(t, err)
		ids = append(ids, created.ID)
	}
	for _, sub := range []string{"ada", "bo", "cy"} {
		queue(sub, "old")
	}
	queue("dan", "new", "old")
	l := loopOf(t, b.options(), "queue")
	require.Empty(t, once(t, l))
	b.Exec("UPDATE tickets SET pending_at = now(), matched_in = 'loop' WHERE id = $1", ids[0])
	_, err := b.RetireProfile(t.Context(), db.ProfileEdit{Universe: "global", Name: "old"})
	require.NoError(t, err)
	require.Equal(t, Done{"tickets_of_retired_profiles": 2}, once(t, l))
	require.Empty(t, once(t, l), "a ticket in a match stays")
	b.Exec("UPDATE tickets SET pending_at = NULL WHERE id = $1", ids[0])
	require.Equal(t, Done{"tickets_of_retired_profiles": 1}, once(t, l))
	require.Equal(t, 3, storetest.One[int](b.DB,
		"SELECT count(*)::int FROM ticket_events WHERE state = 'cancelled' AND reason = 'profile_retired'"))
	require.Equal(t, ids[3], storetest.One[string](b.DB, "SELECT id FROM tickets"))
}

// Pins a sweep that makes all its calls while the database is gone: each of them waits for its timeout.
func TestSweepEndsWithTheDatabase(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]int{fault.Unavailable: 1, fault.Conflict: 3} {
		b, calls := setup(t), 0
		sweeps := map[string]func(context.Context, string, int) (int, error){}
		for _, name := range []string{"a", "b", "c"} {
			sweeps[name] = func(context.Context, string, int) (int, error) {
				calls++
				return 0, fault.New(kind, "x", "x")
			}
		}
		s := &queueSweeper{store: b.Store}
		require.Error(t, s.sweepUniverse(t.Context(), "global", sweeps, Done{}))
		require.Equal(t, want, calls)
	}
}
