package db_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
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

const universe = "global"

// ticketOf makes a ticket whose body is its id, its time and a text.
func ticketOf(f match.Fields, text string) db.NewTicket {
	return db.NewTicket{SearchFields: f, EncodeBody: func(id string, created time.Time) []byte {
		return fmt.Appendf(nil, "%s %d %s", id, created.UnixNano(), text)
	}}
}

func (b *bundle) ticket(t db.NewTicket) db.Ticket {
	b.t.Helper()
	return must.Get(b.CreateTicket(b.t.Context(), universe, t))(b.t)
}

// waiting returns the ids of the tickets that a replica finds in a pool.
func (b *bundle) waiting(s *db.Store, p match.Pool) (ids []string) {
	b.t.Helper()
	for _, t := range b.found(s.QueryTickets(universe, p, true)) {
		require.Contains(b.t, string(t.Body), t.ID)
		ids = append(ids, t.ID)
	}
	slices.Sort(ids)
	return ids
}

// mark puts a ticket into a match that was made some time ago.
func (b *bundle) mark(id string, ago time.Duration) {
	b.t.Helper()
	b.Exec("UPDATE tickets SET pending_at = clock_timestamp() - $2::interval, matched_in = 'm' WHERE id = $1", id, ago)
}

func (b *bundle) assign(allOrNone bool, ids ...string) (missing []string) {
	b.t.Helper()
	return must.Get(b.AssignTickets(b.t.Context(), universe,
		db.Assignments{Groups: []db.Assignment{{TicketIDs: ids, EncodedAssignment: []byte("there")}}, AllOrNone: allOrNone}))(b.t)
}

// Pins pools that SQL and Go filter differently: NaN, infinities, excluded ends, empty texts, texts that Postgres
// rejects.
func TestPoolsInSQL(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ask := func(t require.TestingT, name string, p match.Pool, f match.Fields) {
		b.Exec("DELETE FROM tickets")
		ticket := b.ticket(ticketOf(f, ""))
		b.Exec("UPDATE tickets SET created = $1", f.Created.UnixNano())
		want := []string(nil)
		n := int64(0)
		if p.Holds(f) {
			want, n = []string{ticket.ID}, 1
		}
		require.Equal(t, want, b.waiting(b.Store, p), name)
		got, err := b.CountTickets(context.Background(), universe, p)
		require.NoError(t, err)
		require.Equal(t, n, got, name)
	}
	for _, c := range matchtest.Cases() {
		require.Equal(t, c.IsHeld, c.Pool.Holds(c.Fields), c.Name)
		ask(t, c.Name, c.Pool, c.Fields)
	}
	rapid.Check(t, func(rt *rapid.T) {
		f := matchtest.Fields().Draw(rt, "fields")
		ask(rt, "", matchtest.Pools().Draw(rt, "pool"), f)
		ask(rt, "fitting", matchtest.Fitting(f).Draw(rt, "fitting pool"), f)
	})
}

// Pins a new ticket that another replica does not find at once, and a deleted or assigned one that it still finds.
func TestAllReplicasSeeTicketsAtOnce(t *testing.T) {
	t.Parallel()
	b := setup(t)
	other, ctx := b.Replica(), t.Context()
	var ids []string
	for range 20 {
		ids = append(ids, b.ticket(ticketOf(match.Fields{Tags: []string{"a"}}, "")).ID)
		require.Len(t, b.waiting(other, match.Pool{Tags: []string{"a"}}), len(ids))
	}
	slices.Sort(ids)
	require.Equal(t, ids, b.waiting(other, match.Pool{}))

	require.Empty(t, b.assign(false, ids[0]))
	require.Equal(t, ids[1:], b.waiting(other, match.Pool{}))
	got, err := other.GetTicket(ctx, universe, ids[0])
	require.NoError(t, err)
	require.Equal(t, "there", string(got.EncodedAssignment))
	require.Equal(t, string(got.Body)+"\x1a\x05there", string(got.Encoded()))

	require.NoError(t, b.DeleteTicket(ctx, universe, ids[1]))
	require.Equal(t, ids[2:], b.waiting(other, match.Pool{}))
	for _, id := range []string{ids[1], "", "no such id", "00000000000000000000", "\x00"} {
		_, err = other.GetTicket(ctx, universe, id)
		requireKind(t, fault.NotFound, "ticket_unknown", err)
		require.ErrorContains(t, err, "Ticket id: "+id+" not found")
		require.NoError(t, b.DeleteTicket(ctx, universe, id))
	}
	require.Len(t, b.waiting(other, match.Pool{}), 18)
	require.NoError(t, b.DeleteTicket(ctx, universe, ids[0]), "an assigned one")
	_, err = b.GetTicket(ctx, universe, ids[0])
	requireKind(t, fault.NotFound, "ticket_unknown", err)
}

// Pins times that count only after a worker has run: none runs here.
func TestTimesCountWithoutWorkers(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *db.Config) { c.Timing.PendingFor, c.Timing.AssignedFor = time.Minute, time.Minute })
	ctx := t.Context()
	id := b.ticket(ticketOf(match.Fields{}, "")).ID
	b.mark(id, 59*time.Second)
	require.Empty(t, b.waiting(b.Store, match.Pool{}))
	b.mark(id, time.Minute)
	require.Equal(t, []string{id}, b.waiting(b.Store, match.Pool{}))
	b.mark(id, 0)
	require.NoError(t, b.ReleaseTickets(ctx, universe, []string{id, "unknown"}))
	require.Equal(t, []string{id}, b.waiting(b.Store, match.Pool{}))
	b.mark(id, 0)
	require.NoError(t, b.ReleaseAllTickets(ctx, universe))
	require.Equal(t, []string{id}, b.waiting(b.Store, match.Pool{}))

	b.assign(false, id)
	b.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '59 seconds'")
	_, err := b.GetTicket(ctx, universe, id)
	require.NoError(t, err)
	require.Empty(t, b.assign(false, id), "its time restarts")
	b.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '59 seconds'")
	_, err = b.GetTicket(ctx, universe, id)
	require.NoError(t, err)
	b.Exec("UPDATE settled_tickets SET settled_at = settled_at - interval '1 second'")
	_, err = b.GetTicket(ctx, universe, id)
	requireKind(t, fault.NotFound, "ticket_unknown", err)
	require.Equal(t, []string{id}, b.assign(false, id))

	brief := ticketOf(match.Fields{}, "")
	brief.TTL, brief.KeepAlive = time.Hour, true
	kept, left := b.ticket(brief).ID, b.ticket(brief).ID
	b.Exec("UPDATE tickets SET expires_at = clock_timestamp() + interval '1 second'")
	require.NoError(t, b.KeepAlive(ctx, universe, []string{kept}))
	b.Exec("UPDATE tickets SET expires_at = expires_at - interval '1 second'")
	require.Equal(t, []string{kept}, b.waiting(b.Store, match.Pool{}))
	require.Equal(t, []string{left}, b.assign(false, left))
}

// Pins a release that waits for an acceptance and is then incomplete: the ticket is queued, but associated with its
// backfill.
func TestReleasingATicketThatIsBeingMatched(t *testing.T) {
	t.Parallel()
	b := setup(t)
	id := b.tickets(1)[0]
	b.mark(id, time.Minute)
	m := acceptedOf("1", id)
	m.Backfill = &db.MatchBackfill{Body: []byte("new")}
	var releasing errgroup.Group
	final, err := b.AcceptMatches(t.Context(), b.cycle(), []db.AcceptedMatch{m},
		func(sent []byte, of *db.Backfill) (db.NewBackfill, error) {
			releasing.Go(func() error { return b.ReleaseTickets(t.Context(), universe, []string{id}) })
			b.AwaitBlocked(1)
			return readBackfill(sent, of)
		})
	require.NoError(t, err)
	require.NoError(t, releasing.Wait())
	require.Equal(t, []string{id}, b.waiting(b.Store, match.Pool{}))
	require.Empty(t, b.associated(final[0].CreatedBackfill.ID))
}

// Pins tickets after the first page that are not released, and a released ticket that is associated with a backfill.
func TestReleasingMoreThanAPage(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const many = 2001
	var crowd errgroup.Group
	for range many {
		crowd.Go(func() error {
			_, err := b.CreateTicket(t.Context(), universe, ticketOf(match.Fields{}, ""))
			return err
		})
	}
	require.NoError(t, crowd.Wait())
	ids := b.waiting(b.Store, match.Pool{})
	backfill := b.backfill(match.Fields{})
	b.matchInto(backfill.ID, ids[len(ids)-1])
	b.Exec("UPDATE tickets SET pending_at = clock_timestamp(), matched_in = 'm'")
	require.Empty(t, b.waiting(b.Store, match.Pool{}))
	require.NoError(t, b.ReleaseAllTickets(t.Context(), universe))
	require.Len(t, b.waiting(b.Store, match.Pool{}), many)
	require.Empty(t, b.associated(backfill.ID))
}

// Pins a call with allOrNone that assigns some of its tickets, when another one does not exist.
func TestAssignAllOrNone(t *testing.T) {
	t.Parallel()
	b := setup(t)
	first, second := b.ticket(ticketOf(match.Fields{}, "")).ID, b.ticket(ticketOf(match.Fields{}, "")).ID
	require.NoError(t, b.DeleteTicket(t.Context(), universe, second))
	for _, missing := range []string{second, "never"} {
		require.Equal(t, []string{missing}, b.assign(true, first, missing))
		require.Equal(t, []string{first}, b.waiting(b.Store, match.Pool{}))
	}
	require.Equal(t, []string{"never", second}, b.assign(false, first, second, "never"))
	require.Empty(t, b.waiting(b.Store, match.Pool{}))
	require.Empty(t, b.assign(true, first), "assigned before")
}

// Pins two live tickets of one player, and a player who is refused although the earlier ticket has expired, is deleted
// or assigned.
func TestOneLiveTicketOfAPlayer(t *testing.T) {
	t.Parallel()
	b := setup(t)
	mine := ticketOf(match.Fields{}, "")
	mine.Player, mine.TTL = "alice", time.Hour
	first := b.ticket(mine)
	_, err := b.CreateTicket(t.Context(), universe, mine)
	requireKind(t, fault.Conflict, "player_waits", err)
	b.assign(false, first.ID)
	second := b.ticket(mine)
	require.NoError(t, b.DeleteTicket(t.Context(), universe, second.ID))
	b.ticket(mine)
	b.Exec("UPDATE tickets SET expires_at = clock_timestamp()")
	last := b.ticket(mine)
	require.Equal(t, []string{last.ID}, b.waiting(b.Store, match.Pool{}))

	var answers sync.WaitGroup
	var mu sync.Mutex
	made := 0
	for range 16 {
		bob := ticketOf(match.Fields{}, "")
		bob.Player = "bob"
		answers.Go(func() {
			if _, err := b.CreateTicket(t.Context(), universe, bob); err == nil {
				mu.Lock()
				defer mu.Unlock()
				made++
			}
		})
	}
	answers.Wait()
	require.Equal(t, 1, made)
}

// Pins a deadlock of two replicas' batches, which insert tickets of the same players.
func TestTicketsOfTheSamePlayersAtTwoReplicas(t *testing.T) {
	t.Parallel()
	b := setup(t)
	replicas := []*db.Store{b.withoutDeadlockCheck(), b.withoutDeadlockCheck()}
	const players = 300
	var crowd errgroup.Group
	for i := range players {
		for k, s := range replicas {
			crowd.Go(func() error {
				n := ticketOf(match.Fields{}, "")
				n.Player = fmt.Sprint([]int{i, players - 1 - i}[k])
				_, err := s.CreateTicket(t.Context(), universe, n)
				if e := (*fault.Error)(nil); errors.As(err, &e) && e.Code == "player_waits" {
					return nil
				}
				return err
			})
		}
	}
	require.NoError(t, crowd.Wait())
	require.Len(t, b.waiting(b.Store, match.Pool{}), players)
}

// Pins a ticket that is answered as cancelled, and is matched nevertheless.
func TestCancelAndUpdate(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	id := b.ticket(ticketOf(match.Fields{Tags: []string{"a"}}, "old")).ID
	changed, err := b.UpdateTicket(ctx, universe, id, ticketOf(match.Fields{Tags: []string{"b"}}, "new"))
	require.NoError(t, err)
	require.Contains(t, string(changed.Body), "new")
	require.Empty(t, b.waiting(b.Store, match.Pool{Tags: []string{"a"}}))
	require.Equal(t, []string{id}, b.waiting(b.Store, match.Pool{Tags: []string{"b"}}))

	b.mark(id, 0)
	_, err = b.UpdateTicket(ctx, universe, id, ticketOf(match.Fields{}, ""))
	requireKind(t, fault.Conflict, "matched", err)
	got, err := b.CancelTicket(ctx, universe, id)
	require.NoError(t, err)
	require.Equal(t, db.Cancelled{MatchedIn: []byte("m")}, got)
	b.mark(id, time.Hour)
	got, err = b.CancelTicket(ctx, universe, id)
	require.NoError(t, err)
	require.True(t, got.IsCancelled)
	_, err = b.CancelTicket(ctx, universe, id)
	requireKind(t, fault.NotFound, "ticket_unknown", err)

	id = b.ticket(ticketOf(match.Fields{}, "")).ID
	b.assign(false, id)
	got, err = b.CancelTicket(ctx, universe, id)
	require.NoError(t, err)
	require.Equal(t, "there", string(got.AssignedTicket.EncodedAssignment))
	_, err = b.UpdateTicket(ctx, universe, id, ticketOf(match.Fields{}, ""))
	requireKind(t, fault.Conflict, "matched", err)
}

// Pins deadlocks, and a ticket that is lost, or cancelled and assigned, when several replicas change it at once.
func TestConcurrentCallsOfTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	stores := []*db.Store{b.Store, b.Replica(), b.Replica()}
	var ids []string
	for range 200 {
		ids = append(ids, b.ticket(ticketOf(match.Fields{}, "")).ID)
	}
	var mu sync.Mutex
	cancelled, assigned := map[string]bool{}, map[string]bool{}
	var callers sync.WaitGroup
	for n := range 8 {
		s, ctx := stores[n%len(stores)], t.Context()
		callers.Go(func() {
			for range 40 {
				some := make([]string, 0, 20)
				for range 20 {
					some = append(some, ids[rand.IntN(len(ids))])
				}
				slices.Sort(some)
				some = slices.Compact(some)
				switch n % 4 {
				case 0:
					missing, err := s.AssignTickets(ctx, universe,
						db.Assignments{Groups: []db.Assignment{{TicketIDs: some[:2], EncodedAssignment: []byte("x")}}, AllOrNone: true})
					if err != nil {
						t.Error(err)
					}
					if len(missing) == 0 {
						mu.Lock()
						assigned[some[0]], assigned[some[1]] = true, true
						mu.Unlock()
					}
				case 1:
					got, err := s.CancelTicket(ctx, universe, some[0])
					if err != nil && !fault.Is(err, fault.NotFound) {
						t.Error(err)
					}
					if got.IsCancelled {
						mu.Lock()
						cancelled[some[0]] = true
						mu.Unlock()
					}
				case 2:
					if err := s.ReleaseTickets(ctx, universe, some); err != nil {
						t.Error(err)
					}
				case 3:
					if _, err := s.GetTickets(ctx, universe, some); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	callers.Wait()
	require.NotEmpty(t, cancelled)
	require.NotEmpty(t, assigned)
	left := b.waiting(b.Store, match.Pool{})
	for _, id := range ids {
		states := 0
		for _, in := range []bool{cancelled[id], assigned[id], slices.Contains(left, id)} {
			if in {
				states++
			}
		}
		require.Equal(t, 1, states, "%s: cancelled %v, assigned %v", id, cancelled[id], assigned[id])
	}
	require.Zero(t, one[int](b, "SELECT count(*) FROM ops.invariant_ticket_in_two_places"))
	require.Equal(t, len(assigned), one[int](b, "SELECT assigned FROM ops.assignments"))
}
