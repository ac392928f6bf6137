package db_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// Workers of overlapping profiles, players who cancel or ask for a seat themselves, and a full fleet: each ticket ends
// in one way, in one match at most, and no instance is over capacity.
func TestManyOwnersCommitBesideCancels(t *testing.T) {
	t.Parallel()
	m := setupMatches(t, func(c *db.Config) { c.MaxConns = 16 })
	m.AddServer("b", 40)
	var tickets []db.MatchTicket
	for i := range 120 {
		tickets = append(tickets, m.queued("red", fmt.Sprint("p", i)))
	}
	owners := []db.MatchOwner{m.owner, m.takeProfile("second"), m.takeProfile("third")}
	var mu sync.Mutex
	committed, cancelled := map[string]int{}, map[string]bool{}
	var race errgroup.Group
	for n, owner := range owners {
		s := m.Replica()
		race.Go(func() error {
			r := rand.New(rand.NewPCG(1, uint64(n)))
			for range 12 {
				var all []db.NewMatch
				for at := r.Perm(len(tickets)); len(all) < 10; at = at[2:] {
					d := matchOf(tickets[at[0]], tickets[at[1]])
					d.Profile = owner.ProfileName
					all = append(all, d)
				}
				out, err := s.CommitMatches(t.Context(), universe, "eu", db.HostShare{}, []db.MatchOwner{owner}, all,
					assignmentOf)
				if err != nil {
					return err
				}
				mu.Lock()
				for i, o := range out {
					if o.Kind == db.MatchCommitted {
						committed[all[i].Tickets[0].ID]++
						committed[all[i].Tickets[1].ID]++
					}
				}
				mu.Unlock()
			}
			return nil
		})
	}
	race.Go(func() error {
		for _, at := range rand.Perm(len(tickets))[:40] {
			c, err := m.CancelTicket(t.Context(), universe, tickets[at].ID)
			if err != nil {
				return err
			}
			mu.Lock()
			cancelled[tickets[at].ID] = c.IsCancelled
			mu.Unlock()
		}
		return nil
	})
	race.Go(func() error {
		for _, at := range rand.Perm(len(tickets))[:40] {
			_, err := m.Place(t.Context(), request(tickets[at].Players[0].Sub, 2))
			if err != nil && !fault.Is(err, fault.NoCapacity) {
				return err
			}
		}
		return nil
	})
	require.NoError(t, race.Wait())
	require.NotEmpty(t, committed)
	for _, k := range tickets {
		n := committed[k.ID]
		require.LessOrEqual(t, n, 1, k.ID)
		require.False(t, n == 1 && cancelled[k.ID], k.ID)
		assigned := one[int](m.bundle, "SELECT count(*) FROM settled_tickets WHERE id = $1 AND assignment IS NOT NULL",
			k.ID)
		require.Equal(t, n, assigned, k.ID)
		require.Equal(t, n, one[int](m.bundle,
			"SELECT count(*) FROM ticket_events WHERE ticket_id = $1 AND state = 'assigned'", k.ID))
	}
	require.Empty(t, m.Rows("SELECT k FROM match_history, unnest(tickets) k GROUP BY k HAVING count(*) > 1"))
	m.RequireInvariants()
}

// A cancel and a commit meet at the ticket's row: one of them.
func TestACancelAgainstACommit(t *testing.T) {
	t.Parallel()
	m := setupMatches(t)
	for i := range 30 {
		d := m.duel(fmt.Sprint("a", i), fmt.Sprint("b", i))
		var out db.MatchOutcome
		var c db.Cancelled
		var race errgroup.Group
		race.Go(func() error { out = m.commit(d)[0]; return nil })
		race.Go(func() (err error) {
			c, err = m.CancelTicket(t.Context(), universe, d.Tickets[0].ID)
			return err
		})
		require.NoError(t, race.Wait())
		if c.IsCancelled {
			require.Equal(t, db.MatchTicketsGone.String(), out.Kind.String())
		} else {
			require.NotNil(t, c.AssignedTicket)
			m.report(db.SeatReport{InstanceRef: ref("a"), SessionID: m.requireCommitted(out).SessionID, HasEnded: true})
		}
	}
	m.RequireInvariants()
}

// Pins matches that are told although they were rolled back, and matches that are lost although they were committed.
func TestAMatchWhoseCommitIsLost(t *testing.T) {
	t.Parallel()
	for name, arrives := range map[string]bool{"committed": true, "rolled back": false} {
		for kind, propose := range map[string]bool{"commit": false, "proposal": true} {
			t.Run(kind+" "+name, func(t *testing.T) {
				t.Parallel()
				m := setupMatches(t)
				c := newCutter(t, m.URL, arrives)
				far := &matches{&bundle{&storetest.DB{Store: c.replica(m.bundle), T: t, URL: m.URL}, t}, m.owner}
				do := func(d db.NewMatch) {
					if propose {
						far.propose(d)
					} else {
						far.requireCommitted(far.commit(d)[0])
					}
				}
				do(m.duel("warm", "up"))
				d := m.duel("ann", "bob")
				c.armed.Store(true)
				var lost errgroup.Group
				lost.Go(func() error { do(d); return nil })
				if arrives { // late: it is asked already what became of it
					m.AwaitBlocked(1)
					close(c.arrive)
				}
				require.NoError(t, lost.Wait())
				require.Equal(t, int32(1), c.cuts.Load())
				require.Equal(t, 2, one[int](m.bundle, "SELECT count(*) FROM ticket_events WHERE match_id = $1", d.ID))
				m.RequireInvariants()
			})
		}
	}
}
