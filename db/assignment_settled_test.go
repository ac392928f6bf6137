package db_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
)

// feed is a reader of the settled tickets of a region.
type feed struct {
	b      *bundle
	region string
	at     db.FeedPoint
	seen   map[string][]string // what was read of each ticket
	rows   int
}

func (b *bundle) feed(region string) *feed {
	f := &feed{b: b, region: region, seen: map[string][]string{}}
	require.False(b.t, f.page().HasMore)
	return f
}

func (f *feed) page() db.SettledPage {
	page := must.Get(f.b.SettledSince(f.b.t.Context(), f.region, f.at))(f.b.t)
	f.at = page.NextPoint
	f.rows += len(page.SettledTickets)
	for _, s := range page.SettledTickets {
		f.seen[s.TicketID] = append(f.seen[s.TicketID], fmt.Sprint(s.IsAssigned, string(s.EncodedAssignment)))
	}
	return page
}

func (f *feed) read() {
	for f.page().HasMore {
		continue
	}
}

// Pins a feed that leaves out rows which a slow transaction wrote before a quick one, or returns rows again and again.
func TestSettledFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	f := b.feed(universe)
	slow, quick, gone := b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{},
		"")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID
	tx, err := b.Pool().Begin(ctx)
	require.NoError(t, err)
	_, err = tx.Exec(ctx, "INSERT INTO settled_tickets (region, id, body, assignment) SELECT region, id, body, 'slow' FROM tickets WHERE id = $1", slow)
	require.NoError(t, err)
	b.assign(false, quick)
	require.NoError(t, b.DeleteTicket(ctx, universe, gone))
	f.read()
	require.Equal(t, map[string][]string{quick: {"truethere"}, gone: {"false"}}, f.seen)
	require.NoError(t, tx.Commit(ctx))
	f.read()
	require.Equal(t, []string{"trueslow"}, f.seen[slow])
	rows := f.rows
	f.read()
	require.Equal(t, rows, f.rows, "no row is returned again")
}

// Pins readings that return more and more rows while a transaction stays open after it has written, until they time
// out.
func TestAnOpenTransactionDoesNotGrowTheFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	forgotten, err := b.Pool().Begin(ctx)
	require.NoError(t, err)
	defer func() { _ = forgotten.Rollback(context.Background()) }()
	_, err = forgotten.Exec(ctx, "SELECT pg_current_xact_id()")
	require.NoError(t, err)
	f := b.feed(universe)
	const n = 100
	for range n {
		b.assign(false, b.ticket(ticketOf(match.Fields{}, "")).ID)
		f.read()
	}
	require.Len(t, f.seen, n)
	require.Equal(t, n, f.rows, "each is returned once")
}

// A page has all rows of a transaction, however many, and about a thousand rows of others at most.
func TestPagesOfTheFeed(t *testing.T) {
	t.Parallel()
	b := setup(t)
	f := b.feed(universe)
	const settle = "INSERT INTO settled_tickets (region, id) SELECT $1, $2::text || n FROM generate_series(1, $3::int) n"
	late, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = late.Exec(t.Context(), settle, universe, "late", 1500)
	require.NoError(t, err)
	f.read()
	for i := range 5 {
		b.Exec(settle, universe, fmt.Sprint("new", i, "-"), 600)
	}
	require.NoError(t, late.Commit(t.Context()))
	var sizes []int
	for more := true; more; {
		page := f.page()
		sizes, more = append(sizes, len(page.SettledTickets)), page.HasMore
		if len(sizes) == 2 { // the next reading returns these
			b.Exec(settle, universe, "newer", 600)
		}
	}
	require.Equal(t, []int{1500, 1200, 1200, 1200}, sizes)
	f.read()
	require.Len(t, f.seen, 1500+6*600)
	for id, times := range f.seen {
		require.LessOrEqual(t, len(times), 2, id)
	}
}

// In whatever order transactions begin, write, end and are read: each settled ticket is returned once or twice.
func TestTheFeedIsComplete(t *testing.T) {
	t.Parallel()
	b := setup(t)
	regions := 0
	rapid.Check(t, func(rt *rapid.T) {
		ctx := t.Context()
		regions++
		f := b.feed(fmt.Sprint("region", regions))
		var open []pgx.Tx
		var wrote [][]string
		settled := map[string]bool{}
		defer func() {
			for _, tx := range open {
				_ = tx.Rollback(context.WithoutCancel(ctx))
			}
		}()
		end := func() {
			i := rapid.IntRange(0, len(open)-1).Draw(rt, "which")
			if rapid.Bool().Draw(rt, "commits") {
				require.NoError(rt, open[i].Commit(ctx))
				for _, id := range wrote[i] {
					settled[id] = true
				}
			} else {
				require.NoError(rt, open[i].Rollback(ctx))
			}
			open, wrote = slices.Delete(open, i, i+1), slices.Delete(wrote, i, i+1)
		}
		rows := 0
		rt.Repeat(map[string]func(*rapid.T){
			"begin": func(rt *rapid.T) {
				if len(open) == 4 {
					rt.Skip("enough are open")
				}
				tx, err := b.Pool().Begin(ctx)
				require.NoError(rt, err)
				_, err = tx.Exec(ctx, "SELECT pg_current_xact_id()")
				require.NoError(rt, err)
				open, wrote = append(open, tx), append(wrote, nil)
			},
			"settle": func(rt *rapid.T) {
				if len(open) == 0 {
					rt.Skip("none is open")
				}
				i, n := rapid.IntRange(0, len(open)-1).Draw(rt, "which"), rapid.SampledFrom([]int{1, 600}).Draw(rt,
					"tickets")
				for range n {
					rows++
					wrote[i] = append(wrote[i], fmt.Sprint(rows))
				}
				_, err := open[i].Exec(ctx, "INSERT INTO settled_tickets (region, id) SELECT $1, unnest($2::text[])",
					f.region, wrote[i][len(wrote[i])-n:])
				require.NoError(rt, err)
			},
			"end": func(rt *rapid.T) {
				if len(open) == 0 {
					rt.Skip("none is open")
				}
				end()
			},
			"read a page": func(*rapid.T) { f.page() },
			"read all":    func(*rapid.T) { f.read() },
		})
		for len(open) > 0 {
			end()
		}
		f.read() // a reading that was begun before ends at the moment at which it began
		f.read()
		require.Len(rt, f.seen, len(settled))
		for id := range settled {
			require.Contains(rt, []int{1, 2}, len(f.seen[id]), id)
		}
	})
}

func TestSweeping(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing.AssignedFor = time.Minute })
	ctx := t.Context()
	brief := ticketOf(match.Fields{}, "")
	brief.TTL = time.Hour
	expired, waits, assigned, fresh := b.ticket(brief).ID, b.ticket(brief).ID, b.ticket(brief).ID, b.ticket(brief).ID
	b.assign(false, assigned, fresh)
	b.Exec("UPDATE tickets SET expires_at = clock_timestamp() WHERE id = $1", expired)
	b.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '1 minute' WHERE id = $1", assigned)
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

// Pins statements whose plans were cached while the queue was empty, and that never finish on a long queue.
func TestPlansFromAnEmptyQueueServeALongOne(t *testing.T) {
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
		missing, err := b.AssignTickets(ctx, universe,
			db.Assignments{Groups: []db.Assignment{{TicketIDs: ids, EncodedAssignment: []byte("there")}}})
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
