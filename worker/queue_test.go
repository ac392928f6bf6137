package worker

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins what nobody reads any more and stays for ever, and a sweep that takes what is still of use.
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
