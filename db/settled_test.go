package db_test

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// Pins a feed that leaves out what a slow transaction wrote before a quick one.
func TestSettledFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	none, since, err := b.SettledSince(ctx, universe, 0)
	require.NoError(t, err)
	require.Empty(t, none)
	slow, quick, gone := b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID
	tx, err := b.Pool().Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO settled_tickets (region, id, body, assignment) SELECT region, id, body, 'slow' FROM tickets WHERE id = $1", slow)
	require.NoError(t, err)
	b.assign(false, quick)
	require.NoError(t, b.DeleteTicket(ctx, universe, gone))
	seen := map[string]string{}
	look := func() {
		var all []db.Settled
		all, since, err = b.SettledSince(ctx, universe, since)
		require.NoError(t, err)
		for _, s := range all {
			seen[s.ID] = fmt.Sprint(s.Assigned, string(s.Assignment))
		}
	}
	look()
	require.Equal(t, map[string]string{quick: "truethere", gone: "false"}, maps.Clone(seen))
	require.NoError(t, tx.Commit(ctx))
	look()
	require.Equal(t, "trueslow", seen[slow])
	// Transactions of other databases hold the horizon back as well.
	require.Eventually(t, func() bool { clear(seen); look(); return len(seen) == 0 }, 20*time.Second, 10*time.Millisecond, "nothing comes for ever")
}

func TestSweeping(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing.AssignedFor = time.Minute })
	ctx := t.Context()
	brief := ticketOf(match.Fields{}, "")
	brief.TTL = time.Hour
	over, waits, assigned, fresh := b.ticket(brief).ID, b.ticket(brief).ID, b.ticket(brief).ID, b.ticket(brief).ID
	b.assign(false, assigned, fresh)
	b.exec("UPDATE tickets SET expires_at = clock_timestamp() WHERE id = $1", over)
	b.exec("UPDATE settled_tickets SET settled_at = settled_at - interval '1 minute' WHERE id = $1", assigned)
	regions, err := b.TicketRegions(ctx)
	require.NoError(t, err)
	require.Equal(t, []string{universe}, regions)
	n, err := b.SweepTickets(ctx, universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	n, err = b.ForgetSettled(ctx, universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{waits}, b.waiting(b.Store, match.Pool{}))
	_, err = b.GetTicket(ctx, universe, fresh)
	require.NoError(t, err)
}

// Pins statements that were planned while the queue was empty, and do not end when it is long.
func TestAQueueThatGrewSincePlansWereMade(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.MaxConns = 1 })
	ctx := t.Context()
	first := b.ticket(ticketOf(match.Fields{}, "")).ID
	b.assign(false, first)
	b.assign(false, first)
	require.NoError(t, b.DeleteTicket(ctx, universe, first))
	require.NoError(t, b.ReleaseTickets(ctx, universe, []string{first}))
	var ids []string
	var made sync.WaitGroup
	var mu sync.Mutex
	for range 200 {
		made.Go(func() {
			for range 25 {
				ticket, err := b.CreateTicket(ctx, universe, ticketOf(match.Fields{}, ""))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				ids = append(ids, ticket.ID)
				mu.Unlock()
			}
		})
	}
	made.Wait()
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	require.NoError(t, b.ReleaseTickets(ctx, universe, ids))
	for range 2 {
		missing, err := b.AssignTickets(ctx, universe, []db.Assignment{{Tickets: ids, Assignment: []byte("there")}}, false)
		require.NoError(t, err)
		require.Empty(t, missing)
	}
	var gone sync.WaitGroup
	for _, id := range ids[:1000] {
		gone.Go(func() {
			if err := b.DeleteTicket(ctx, universe, id); err != nil {
				t.Error(err)
			}
		})
	}
	gone.Wait()
}
