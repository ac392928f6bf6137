package db_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/matchtest"
)

func backfillOf(f match.Fields, text string) db.NewBackfill {
	return db.NewBackfill{SearchFields: f, EncodeBody: func(id string, created time.Time) []byte {
		return fmt.Appendf(nil, "%s %d %s", id, created.UnixNano(), text)
	}}
}

func (b *bundle) backfill(f match.Fields) db.Backfill {
	b.t.Helper()
	return must.Get(b.CreateBackfill(b.t.Context(), universe, backfillOf(f, "first")))(b.t)
}

func (b *bundle) backfillsIn(p match.Pool) (ids []string) {
	b.t.Helper()
	query := b.QueryBackfills(universe, p)
	for {
		part := must.Get(query.Next(b.t.Context()))(b.t)
		if len(part) == 0 {
			return ids
		}
		for _, f := range part {
			ids = append(ids, f.ID)
		}
	}
}

// matchInto makes tickets pending and associates them with a backfill, as an accepted match does.
func (b *bundle) matchInto(backfill string, tickets ...string) {
	b.t.Helper()
	for _, id := range tickets {
		b.mark(id, 0)
		b.Exec("INSERT INTO backfill_tickets (region, ticket_id, backfill_id) VALUES ($1, $2, $3)", universe, id,
			backfill)
	}
}

// ageBackfill moves the last acknowledgement of a backfill back by d.
func (b *bundle) ageBackfill(id string, d time.Duration) {
	b.t.Helper()
	b.Exec("UPDATE backfills SET acked_at = acked_at - $2::interval WHERE id = $1", id, d)
}

func TestBackfillLifecycle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	f := b.backfill(match.Fields{Tags: []string{"a"}})
	require.True(t, db.IssuedHere(universe, db.BackfillID, f.ID))
	require.Equal(t, int64(1), f.Generation)
	got, err := b.GetBackfill(ctx, universe, f.ID)
	require.NoError(t, err)
	require.Equal(t, f, got)
	require.Equal(t, []string{f.ID}, b.backfillsIn(match.Pool{Tags: []string{"a"}}))

	one, two := b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID
	b.matchInto(f.ID, one)
	changed, err := b.UpdateBackfill(ctx, universe, f.ID, func(old db.Backfill) (db.NewBackfill, error) {
		require.Equal(t, f, old)
		return backfillOf(match.Fields{Tags: []string{"b"}}, "second"), nil
	})
	require.NoError(t, err)
	require.Equal(t, int64(2), changed.Generation)
	require.Equal(t, f.CreatedAt, changed.CreatedAt)
	require.Contains(t, string(changed.Body), "second")
	require.ElementsMatch(t, []string{one, two}, b.waiting(b.Store, match.Pool{}), "released")
	require.Empty(t, b.backfillsIn(match.Pool{Tags: []string{"a"}}))
	require.Equal(t, []string{f.ID}, b.backfillsIn(match.Pool{Tags: []string{"b"}}))

	b.matchInto(f.ID, one, two)
	require.NoError(t, b.DeleteTicket(ctx, universe, two))
	acked, assigned, err := b.AcknowledgeBackfill(ctx, universe, f.ID, []byte("here"))
	require.NoError(t, err)
	require.Equal(t, changed, acked)
	require.Len(t, assigned, 1)
	require.Equal(t, []string{one, "here"}, []string{assigned[0].ID, string(assigned[0].EncodedAssignment)})
	three := b.ticket(ticketOf(match.Fields{}, "")).ID
	b.matchInto(f.ID, three)
	require.NoError(t, b.DeleteBackfill(ctx, universe, f.ID))
	require.Equal(t, []string{three}, b.waiting(b.Store, match.Pool{}))
	require.NoError(t, b.DeleteBackfill(ctx, universe, f.ID))
	for _, id := range []string{f.ID, "", "never", "\x00"} {
		_, err = b.GetBackfill(ctx, universe, id)
		requireKind(t, fault.NotFound, "backfill_unknown", err)
		require.ErrorContains(t, err, "Backfill id: "+id+" not found")
		_, _, err = b.AcknowledgeBackfill(ctx, universe, id, nil)
		requireKind(t, fault.NotFound, "backfill_unknown", err)
		_, err = b.UpdateBackfill(ctx, universe, id, nil)
		requireKind(t, fault.NotFound, "backfill_unknown", err)
	}
}

// Pins players who are assigned to a game server that never learns of them, because the answer to its acknowledgement
// was lost.
func TestARepeatedAcknowledgementReturnsTheSameTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	f := b.backfill(match.Fields{})
	first, second, third := b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{},
		"")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID
	acknowledge := func(assignment string) (got []string) {
		_, assigned, err := b.AcknowledgeBackfill(ctx, universe, f.ID, []byte(assignment))
		require.NoError(t, err)
		for _, ticket := range assigned {
			got = append(got, ticket.ID+" "+string(ticket.EncodedAssignment))
		}
		slices.Sort(got)
		return got
	}
	require.Empty(t, acknowledge("here"))
	b.matchInto(f.ID, first, second)
	both := []string{first + " here", second + " here"}
	slices.Sort(both)
	require.Equal(t, both, acknowledge("here"))
	settledAt := func() string {
		return one[string](b, "SELECT string_agg(settled_at::text, ' ' ORDER BY id) FROM settled_tickets")
	}
	before := settledAt()
	require.Equal(t, both, acknowledge("here"))
	require.Equal(t, both, acknowledge("elsewhere"), "they are assigned already")
	require.Equal(t, before, settledAt(), "an acknowledgement does not restart their time")

	require.NoError(t, b.DeleteTicket(ctx, universe, second))
	require.Equal(t, []string{first + " here"}, acknowledge("here"), "a deleted ticket is not returned")
	_, err := b.UpdateBackfill(ctx, universe, f.ID,
		func(db.Backfill) (db.NewBackfill, error) { return backfillOf(match.Fields{}, "more"), nil })
	require.NoError(t, err)
	require.Empty(t, acknowledge("here"), "at the next generation")
	b.matchInto(f.ID, third)
	require.Equal(t, []string{third + " here"}, acknowledge("here"))
	require.Equal(t, []string{third + " here"}, acknowledge("here"))
}

// Pins a dead game server that gets players, and an update that postpones the expiry of a backfill.
func TestBackfillsExpireWithoutAcknowledgements(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing.PendingFor = 100 * time.Second })
	ctx := t.Context()
	f := b.backfill(match.Fields{})
	one := b.ticket(ticketOf(match.Fields{}, "")).ID
	b.matchInto(f.ID, one)
	b.ageBackfill(f.ID, 79*time.Second)
	require.Equal(t, []string{f.ID}, b.backfillsIn(match.Pool{}))
	_, err := b.UpdateBackfill(ctx, universe, f.ID,
		func(db.Backfill) (db.NewBackfill, error) { return backfillOf(match.Fields{}, ""), nil })
	require.NoError(t, err)
	b.matchInto(f.ID, one)
	n, err := b.SweepBackfills(ctx, universe, 10)
	require.NoError(t, err)
	require.Zero(t, n)

	b.ageBackfill(f.ID, time.Second)
	require.Empty(t, b.backfillsIn(match.Pool{}), "expired after four fifths of PendingFor")
	_, err = b.UpdateBackfill(ctx, universe, f.ID,
		func(db.Backfill) (db.NewBackfill, error) { return db.NewBackfill{}, errors.New("not asked") })
	requireKind(t, fault.Conflict, "backfill_expired", err)
	require.ErrorContains(t, err, "can not update an expired backfill, id: "+f.ID)
	_, _, err = b.AcknowledgeBackfill(ctx, universe, f.ID, nil)
	require.ErrorContains(t, err, "can not acknowledge an expired backfill, id: "+f.ID)
	_, err = b.GetBackfill(ctx, universe, f.ID)
	require.NoError(t, err, "it exists until a worker deletes it")
	require.Empty(t, b.waiting(b.Store, match.Pool{}))
	n, err = b.SweepBackfills(ctx, universe, 10)
	require.NoError(t, err)
	require.Equal(t, 1, n)
	require.Equal(t, []string{one}, b.waiting(b.Store, match.Pool{}))
}

// Pins pools that SQL and Go filter differently.
func TestPoolsOfBackfills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	rapid.Check(t, func(rt *rapid.T) {
		f := matchtest.Fields().Draw(rt, "fields")
		p := rapid.OneOf(matchtest.Pools(), matchtest.Fitting(f)).Draw(rt, "pool")
		b.Exec("DELETE FROM backfills")
		b.backfill(f)
		b.Exec("UPDATE backfills SET created = $1", f.Created.UnixNano())
		require.Equal(rt, p.Holds(f), len(b.backfillsIn(p)) == 1)
	})
}

// Pins deadlocks, and a ticket that is assigned to one game server while it is matched into the backfill of another.
func TestConcurrentCallsOfBackfills(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	games := []string{b.backfill(match.Fields{}).ID, b.backfill(match.Fields{}).ID}
	var tickets []string
	for range 40 {
		tickets = append(tickets, b.ticket(ticketOf(match.Fields{}, "")).ID)
	}
	b.matchInto(games[0], tickets[:20]...)
	b.matchInto(games[1], tickets[20:]...)
	var mu sync.Mutex
	assignments := map[string][]string{}
	var callers sync.WaitGroup
	for n := range 8 {
		callers.Go(func() {
			id := games[n%2]
			switch {
			case n < 4:
				_, assigned, err := b.AcknowledgeBackfill(ctx, universe, id, []byte(id))
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				for _, a := range assigned {
					assignments[a.ID] = append(assignments[a.ID], string(a.EncodedAssignment))
				}
			case n < 6:
				_, err := b.UpdateBackfill(ctx, universe, id,
					func(db.Backfill) (db.NewBackfill, error) { return backfillOf(match.Fields{}, ""), nil })
				if err != nil {
					t.Error(err)
				}
			default:
				if err := b.ReleaseTickets(ctx, universe, tickets[:30]); err != nil {
					t.Error(err)
				}
			}
		})
	}
	callers.Wait()
	for id, to := range assignments {
		require.Len(t, slices.Compact(to), 1, "%s is assigned to %s", id, strings.Join(to, " and "))
	}
	require.Equal(t, len(tickets), len(assignments)+len(b.waiting(b.Store, match.Pool{})), "no ticket is lost")
	require.Zero(t, one[int](b, "SELECT count(*) FROM backfill_tickets"))
}

// Pins a ticket whose time in a match has passed and which is matched again while the backfill of the first match ends:
// that must not release it from the second match.
func TestABackfillEndsWhileItsTicketIsMatchedAgain(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*bundle, string) error{
		"deleted": func(b *bundle, id string) error { return b.DeleteBackfill(t.Context(), universe, id) },
		"swept": func(b *bundle, _ string) error {
			_, err := b.SweepBackfills(t.Context(), universe,
				10)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			id, old := b.tickets(1)[0], b.backfill(match.Fields{}).ID
			b.matchInto(old, id)
			b.mark(id, time.Minute)
			b.ageBackfill(old, time.Minute)
			m := acceptedOf("1", id)
			m.Backfill = &db.MatchBackfill{Body: []byte("new")}
			var ending errgroup.Group
			final, err := b.AcceptMatches(t.Context(), b.cycle(), []db.AcceptedMatch{m},
				func(sent []byte, of *db.Backfill) (db.NewBackfill, error) {
					ending.Go(func() error { return end(b, old) })
					b.AwaitBlocked(1)
					return readBackfill(sent, of)
				})
			require.NoError(t, err)
			require.NoError(t, ending.Wait())
			require.Equal(t, match.Kept, final[0].Verdict)
			require.Empty(t, b.waiting(b.Store, match.Pool{}))
			require.Equal(t, []string{id}, b.associated(final[0].CreatedBackfill.ID))
		})
	}
}

// Pins a deadlock of a sweep, which locked tickets in the order of their backfills, and an assignment, which locks them
// in the order of their ids.
func TestASweepLocksTicketsInTheirOrder(t *testing.T) {
	t.Parallel()
	b := setup(t)
	s := b.withoutDeadlockCheck()
	ids, fills := b.tickets(3), []string{b.backfill(match.Fields{}).ID, b.backfill(match.Fields{}).ID}
	slices.Sort(ids)
	slices.Sort(fills)
	for i, id := range []string{ids[2], ids[0]} {
		b.matchInto(fills[i], id)
		b.ageBackfill(fills[i], time.Minute)
	}
	tx, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), "SELECT FROM tickets WHERE id = $1 FOR UPDATE", ids[1])
	require.NoError(t, err)
	var both errgroup.Group
	both.Go(func() error {
		_, err := s.AssignTickets(t.Context(), universe,
			db.Assignments{Groups: []db.Assignment{{TicketIDs: ids, EncodedAssignment: []byte("there")}}})
		return err
	})
	b.AwaitBlocked(1) // it has locked the first ticket
	both.Go(func() error { _, err := s.SweepBackfills(t.Context(), universe, 10); return err })
	b.AwaitBlocked(2)
	require.NoError(t, tx.Rollback(t.Context()))
	require.NoError(t, both.Wait())
}
