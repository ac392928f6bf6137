package cycle_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func (b *bundle) owned(r *replica) {
	b.t.Helper()
	b.Await("SELECT EXISTS (SELECT FROM match_cycles WHERE owner = $1 AND state <> 'ended')", r.id)
}

// callers waits until n callers are in the cycle.
func (b *bundle) callers(n int) {
	b.t.Helper()
	b.Await("SELECT count(*) = $1 FROM match_callers", n)
}

// Pins replicas that each run a cycle of their own, and proposals that are lost between replicas.
func TestCallersOfAllReplicasAreInOneCycle(t *testing.T) {
	t.Parallel()
	b := setup(t)
	const replicas, calls, matches = 3, 4, 60
	ids := b.tickets(replicas * calls * matches)
	var all []*fetching
	best := map[string]string{} // ticket → the match that has it
	n := 0
	for range replicas {
		r := b.replica(window(3 * time.Second))
		for range calls {
			var own []cycle.Proposal
			for range matches {
				id := fmt.Sprintf("%d", n)
				own = append(own, proposal(id, 2, ids[n]), proposal("worse "+id, 1, ids[(n+matches)%len(ids)], ids[n]))
				best[ids[n]] = id
				n++
			}
			all = append(all, r.start(proposes(own...)))
		}
	}
	got := map[string]bool{}
	for i, f := range all {
		require.NoError(t, f.wait(t))
		require.Len(t, f.got, matches, "call %d", i)
		for _, m := range f.got {
			require.False(t, got[m.Proposal.ID])
			got[m.Proposal.ID] = true
			require.Equal(t, best[m.Proposal.Tickets[0]], m.Proposal.ID)
		}
	}
	require.Empty(t, b.waiting())
	require.Equal(t, int64(1), storetest.One[int64](b.DB, "SELECT count(*) FROM match_cycles"))
}

// Pins an evaluator that gets no proposals of other replicas, or only at the end.
func TestMatchesOfOtherReplicasAreDeliveredDuringRegistration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(1)
	seen := make(chan cycle.Proposal, 1)
	judge := evaluator(func(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
		for p := range in {
			seen <- p
			if err := accept(p.ID); err != nil {
				return err
			}
		}
		return nil
	})
	first, second := b.replica(window(time.Hour), by(judge)), b.replica(window(time.Hour), by(judge))
	first.start(proposesThenWaits())
	b.owned(first)
	arrived := make(chan struct{})
	p := proposal("\x00\xff", 1.5, ids[0], "\x00")
	p.BackfillBody = []byte("wanted")
	d := proposesThenWaits(p)
	d.deliver = func(cycle.Accepted) error { close(arrived); return nil }
	f := second.start(d)
	<-arrived
	require.Equal(t, p, <-seen, "no field is lost")
	require.Empty(t, b.waiting())
	created := d.got[0].CreatedBackfill
	there, err := b.GetBackfill(t.Context(), universe, created.ID)
	require.NoError(t, err)
	require.Equal(t, there, *created)
	f.cancel()
	require.ErrorIs(t, f.wait(t), context.Canceled)
	b.callers(1)
}

// Pins proposals of a caller that has left, which take tickets away from others.
func TestACallerThatLeavesGetsNoTickets(t *testing.T) {
	t.Parallel()
	for replicas := range 2 {
		t.Run(fmt.Sprint(replicas+1), func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ids := b.tickets(1)
			gate := make(chan struct{})
			judge := evaluator(func(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
				var all []string
				for p := range in {
					all = append(all, p.ID)
				}
				slices.Sort(all)
				<-gate
				for _, id := range all {
					if err := accept(id); err != nil {
						return err
					}
				}
				return nil
			})
			first := b.replica(window(2*time.Second), by(judge))
			second := first
			if replicas == 1 {
				second = b.replica(window(2*time.Second), by(judge))
			}
			stays := first.start(proposes(proposal("2", 1, ids[0])))
			b.owned(first)
			proposed, ended := make(chan struct{}), make(chan struct{})
			leaves := second.start(&director{run: func(ctx context.Context, propose func(cycle.Proposal) error) error {
				defer close(ended)
				err := propose(proposal("1", 2, ids[0]))
				close(proposed)
				<-ctx.Done()
				return err
			}})
			<-proposed // a caller that leaves right after joining never runs its match function
			b.callers(2)
			if replicas == 1 {
				b.Await("SELECT EXISTS (SELECT FROM match_proposals)")
			}
			leaves.cancel()
			require.ErrorIs(t, leaves.wait(t), context.Canceled)
			<-ended
			if replicas == 1 {
				b.callers(1)
			}
			close(gate)
			require.NoError(t, stays.wait(t))
			require.Equal(t, []string{"2"}, stays.ids())
		})
	}
}

// Pins a match function of another replica that runs past Collection, or whose earlier proposals are lost then.
func TestMatchFunctionsOfOtherReplicasAreCanceled(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(2)
	short := func(o *cycle.Options) { o.Collection = 200 * time.Millisecond }
	first, second := b.replica(window(200*time.Millisecond), short), b.replica(window(200*time.Millisecond), short)
	f := first.start(proposes(proposal("1", 1, ids[0])))
	b.owned(first)
	s := second.start(proposesThenWaits(proposal("2", 1, ids[1])))
	require.NoError(t, f.wait(t))
	requireText(t, s.wait(t), "<nil>", "match function ran longer than proposal window, canceling")
	require.Equal(t, []string{"2"}, s.ids())
}

// Under concurrency: no ticket is in two delivered matches, and no ticket of a delivered match is free.
func TestManyCyclesShareTickets(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(60)
	var replicas []*replica
	for range 3 {
		replicas = append(replicas, b.replica(window(5*time.Millisecond), by(stream{})))
	}
	var mu sync.Mutex
	has := map[string]string{}
	var wait sync.WaitGroup
	for n := range 12 {
		wait.Go(func() {
			for round := range 5 {
				var own []cycle.Proposal
				for k := range 10 {
					at := (7*n + 13*round + 5*k) % len(ids)
					own = append(own, proposal(fmt.Sprintf("%d %d %d", n, round, k), 1, ids[at],
						ids[(at+1+k%3)%len(ids)]))
				}
				d := proposes(own...)
				if err := replicas[n%3].start(d).wait(t); err != nil {
					t.Error(err)
				}
				mu.Lock()
				for _, m := range d.got {
					for _, id := range m.Proposal.Tickets {
						if has[id] != "" {
							t.Errorf("%s is in %s and in %s", id, has[id], m.Proposal.ID)
						}
						has[id] = m.Proposal.ID
					}
				}
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	require.Greater(t, len(has), 20)
	free := b.waiting()
	for id := range has {
		require.NotContains(t, free, id)
	}
	require.Len(t, ids, len(free)+len(has), "no ticket is lost")
}

// Pins replicas behind a pooler, where no notifications arrive: they poll.
func TestReplicasWithoutNotifications(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(4)
	pooled := func(o *cycle.Options) { o.Store = b.store(func(c *db.Config) { c.Pooler = "pgbouncer" }) }
	first, second := b.replica(pooled, window(time.Second)), b.replica(pooled, window(time.Second))
	for round := range 2 {
		low := first.start(proposes(proposal("low", 1, ids[2*round])))
		high := second.start(proposes(proposal("high", 2, ids[2*round], ids[2*round+1])))
		require.NoError(t, low.wait(t))
		require.NoError(t, high.wait(t))
		require.Equal(t, []string{"high"}, append(low.ids(), high.ids()...))
	}
}
