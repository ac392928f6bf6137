package worker

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
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
		ticket, err := b.CreateTicket(t.Context(), "global", db.NewTicket{Encode: encode, TTL: time.Hour})
		require.NoError(t, err)
		ids = append(ids, ticket.ID)
	}
	backfill, err := b.CreateBackfill(t.Context(), "global", db.NewBackfill{Encode: encode})
	require.NoError(t, err)
	_, err = b.AssignTickets(t.Context(), "global", []db.Assignment{{Tickets: ids[:2], Assignment: []byte{}}}, true)
	require.NoError(t, err)
	require.Empty(t, once(t, l))
	b.exec("UPDATE tickets SET expires_at = clock_timestamp() WHERE id = $1", ids[2])
	b.exec("UPDATE settled_tickets SET settled_at = settled_at - interval '10 minutes' WHERE id = $1", ids[0])
	b.exec("UPDATE backfills SET acked_at = acked_at - interval '48 seconds'")
	require.Equal(t, Done{"tickets_expired": 1, "tickets_forgotten": 1, "backfills_expired": 1}, once(t, l))
	require.Empty(t, once(t, l))
	_, err = b.GetTicket(t.Context(), "global", ids[1])
	require.NoError(t, err)
	_, err = b.GetTicket(t.Context(), "global", ids[3])
	require.NoError(t, err)
	_, err = b.GetBackfill(t.Context(), "global", backfill.ID)
	require.True(t, db.IsKind(err, db.NotFound))
}

// Pins rows of match cycles that stay forever where Open Match directors call and no tickets wait.
func TestCyclesWithoutTicketsAreForgotten(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ref := db.CycleRef{Region: "global", Replica: uuid.New(), Lease: time.Minute}
	c, joined, err := b.JoinCycle(t.Context(), ref.Region, ref.Replica, []uuid.UUID{uuid.New()}, db.NewCycle{Collection: time.Hour, Lease: ref.Lease})
	require.NoError(t, err)
	require.True(t, joined)
	ref.ID = c.ID
	require.NoError(t, b.EndCycle(t.Context(), ref, ""))
	l := loopOf(t, b.options(), "queue")
	require.Empty(t, once(t, l))
	b.exec("UPDATE match_cycles SET ended_at = ended_at - interval '1 hour', lease_until = lease_until - interval '1 hour'")
	require.Equal(t, Done{"cycles_forgotten": 1}, once(t, l))
	require.Zero(t, one[int](b, "SELECT (SELECT count(*) FROM match_cycles) + (SELECT count(*) FROM match_callers)"))
}
