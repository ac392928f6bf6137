package cycle_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

// longLease sets a lease that only kill ends early: machines that run tests are slow at times.
func longLease(o *cycle.Options) { o.Lease = time.Minute }

// kill cuts a replica off from the database, and expires its leases.
func (b *bundle) kill(r *replica) {
	b.t.Helper()
	r.store.Close()
	b.Exec("UPDATE match_callers SET seen_at = seen_at - interval '1 hour' WHERE replica = $1", r.id)
	b.Exec("UPDATE match_cycles SET lease_until = clock_timestamp() WHERE owner = $1", r.id)
}

// advance moves the cycle's row to a state.
func (b *bundle) advance(state string) {
	b.t.Helper()
	b.Exec("UPDATE match_cycles SET state = $1, registers_until = clock_timestamp()", state)
}

// Pins a cycle that ends with its owner, in each of its states.
func TestAnotherReplicaTakesOver(t *testing.T) {
	t.Parallel()
	for _, state := range []string{db.CycleRegistering, db.CycleCollecting, db.CycleEvaluating} {
		for name, die := range map[string]func(*bundle, *replica){
			"dies":  (*bundle).kill,
			"stops": func(_ *bundle, r *replica) { r.stop() },
		} {
			t.Run(state+" "+name, func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				ids := b.tickets(3)
				hang := evaluator(func(ctx context.Context, _ <-chan cycle.Proposal, _ func(string) error) error {
					<-ctx.Done()
					return ctx.Err()
				})
				first := b.replica(longLease, window(time.Hour), by(hang))
				second, third := b.replica(longLease, window(time.Hour), by(stream{})), b.replica(longLease,
					window(time.Hour), by(stream{}))
				lost := first.start(proposesThenWaits(proposal("lost", 1, ids[0])))
				b.owned(first)
				release := make(chan struct{})
				waits := &director{run: func(_ context.Context, propose func(cycle.Proposal) error) error {
					defer func() { <-release }()
					return propose(proposal("2", 1, ids[1]))
				}}
				s, th := second.start(waits), third.start(proposes(proposal("3", 1, ids[2])))
				b.callers(3)
				b.Await("SELECT count(*) = 2 FROM match_proposals")
				if state == db.CycleEvaluating {
					close(release)
					b.Await("SELECT count(*) = 2 FROM match_callers WHERE NOT proposing")
				}
				b.advance(state)
				die(b, first)
				b.Await("SELECT EXISTS (SELECT FROM match_cycles WHERE owner <> $1)", first.id)
				if state != db.CycleEvaluating {
					close(release)
				}
				require.NoError(t, s.wait(t))
				require.NoError(t, th.wait(t))
				require.Equal(t, []string{"2"}, s.ids())
				require.Equal(t, []string{"3"}, th.ids())
				require.Equal(t, []string{ids[0]}, b.waiting())
				require.Equal(t, int64(1), storetest.One[int64](b.DB, "SELECT count(*) FROM match_cycles"))
				first.stop()
				err := lost.wait(t)
				require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			})
		}
	}
}

// Pins a match that two owners accept one after the other: a match that the first committed is delivered once.
func TestMatchesOfADeadOwnerAreDelivered(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(2)
	first, second := b.replica(longLease, window(time.Hour), by(stream{})), b.replica(longLease, window(time.Hour),
		by(stream{}))
	first.start(proposesThenWaits())
	b.owned(first)
	more := make(chan struct{})
	s := second.start(&director{run: func(_ context.Context, propose func(cycle.Proposal) error) error {
		err := propose(proposal("1", 1, ids[0]))
		<-more
		return errors.Join(err, propose(proposal("same", 1, ids[0])), propose(proposal("2", 1, ids[1])))
	}})
	b.Await("SELECT EXISTS (SELECT FROM match_proposals WHERE accepted)")
	b.advance(db.CycleRegistering)
	b.kill(first)
	b.owned(second)
	close(more)
	require.NoError(t, s.wait(t))
	require.Equal(t, []string{"1", "2"}, s.ids())
}

// Pins an owner that was paused and then commits matches of a cycle that it has lost.
func TestAPausedOwnerCommitsNothing(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"replaced": "UPDATE match_cycles SET owner = gen_random_uuid(), lease_until = clock_timestamp() + interval '1 hour'",
		"late":     "UPDATE match_cycles SET lease_until = clock_timestamp()",
		"ended":    "UPDATE match_cycles SET state = 'ended'",
		"gone":     "DELETE FROM match_cycles",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			ids := b.tickets(1)
			paused, resume := make(chan struct{}), make(chan struct{})
			judge := evaluator(func(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
				p := <-in
				close(paused)
				<-resume
				return accept(p.ID)
			})
			r := b.replica(window(0), by(judge), longLease)
			f := r.start(proposes(proposal("1", 1, ids[0])))
			<-paused
			b.Exec(sql)
			close(resume)
			err := f.wait(t)
			require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
			require.Empty(t, f.ids())
			require.Equal(t, ids, b.waiting())
		})
	}
}

// Pins a region that gets no more matches after the only replica in a cycle has died.
func TestTheNextCycleBeginsAfterADeadOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(1)
	first, second := b.replica(longLease, window(0)), b.replica(longLease, window(0))
	first.start(proposesThenWaits())
	b.owned(first)
	b.kill(first)
	d := proposes(proposal("1", 1, ids[0]))
	require.NoError(t, second.fetch(d))
	require.Equal(t, []string{"1"}, d.ids())
}

// Pins calls that wait for ever for a cycle whose row is lost.
func TestALostCycleEndsItsCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	quick := func(o *cycle.Options) { o.Lease = time.Second }
	first, second := b.replica(quick, window(time.Hour)), b.replica(quick, window(time.Hour))
	f := first.start(proposesThenWaits())
	b.owned(first)
	s := second.start(proposesThenWaits())
	b.callers(2)
	require.Eventually(t, func() bool { // a replica's transaction that holds one of them makes a deadlock possible
		_, err := b.Pool().Exec(t.Context(), "TRUNCATE match_cycles, match_callers, match_proposals")
		return err == nil
	}, 10*time.Second, 10*time.Millisecond)
	for _, c := range []*fetching{f, s} {
		err := c.wait(t)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
}

// Pins calls of a follower that has nothing to write, and waits for ever for a database that it cannot reach.
func TestAFollowerWithoutADatabaseEndsItsCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	quick := func(o *cycle.Options) { o.Lease = time.Second }
	first, second := b.replica(quick, window(time.Hour)), b.replica(quick, window(time.Hour))
	first.start(proposesThenWaits())
	b.owned(first)
	s := second.start(proposesThenWaits())
	b.callers(2)
	second.store.Close()
	err := s.wait(t)
	require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
}

// Pins calls that outlive their replica, or that a stopped replica accepts.
func TestAReplicaThatStopsEndsItsCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.replica(window(time.Hour))
	f := r.start(proposesThenWaits())
	b.owned(r)
	r.stop()
	for _, err := range []error{f.wait(t), r.fetch(proposes())} {
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
}

// Whichever replica dies at whatever time: each call ends, no ticket is delivered twice, and a delivered match has its
// tickets.
func TestReplicasComeAndGo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(300)
	options := []func(*cycle.Options){window(20 * time.Millisecond), by(stream{}),
		func(o *cycle.Options) { o.Lease, o.Collection = time.Second, time.Second }}
	var mu sync.Mutex
	replicas := []*replica{b.replica(options...), b.replica(options...), b.replica(options...)}
	pick := func(n int) *replica {
		mu.Lock()
		defer mu.Unlock()
		return replicas[n%len(replicas)]
	}
	has := map[string]string{}
	delivered := 0
	ctx, end := context.WithTimeout(t.Context(), 4*time.Second)
	defer end()
	var wait sync.WaitGroup
	for n := range 6 {
		wait.Go(func() {
			for round := 0; ctx.Err() == nil; round++ {
				var own []cycle.Proposal
				for k := range 3 {
					at := (17*n + 31*round + 7*k) % len(ids)
					own = append(own, proposal(fmt.Sprintf("%d %d %d", n, round, k), 1, ids[at], ids[(at+1)%len(ids)]))
				}
				f := pick(n + round).start(proposes(own...))
				if err := f.wait(t); err != nil && !fault.Is(err, fault.Unavailable) {
					require.ErrorAs(t, err, new(*cycle.Error))
				}
				mu.Lock()
				for _, m := range f.got {
					delivered++
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
	for n := 0; ctx.Err() == nil; n++ {
		fresh := b.replica(options...)
		mu.Lock()
		old := replicas[n%3]
		replicas[n%3] = fresh
		mu.Unlock()
		if n%2 == 0 {
			b.kill(old)
		}
		old.stop()
		select {
		case <-ctx.Done():
		case <-time.After(150 * time.Millisecond):
		}
	}
	wait.Wait()
	require.Greater(t, delivered, 10)
	free := b.waiting()
	for id := range has {
		require.NotContains(t, free, id)
	}
	t.Logf("%d matches were delivered, %d of %d tickets are free", delivered, len(free), len(ids))
}

// Pins tickets that become pending for a call that has failed: a director that releases them after the error would be
// too early.
func TestNothingIsCommittedForACallThatHasFailed(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 2} {
		for _, underWay := range []bool{false, true} {
			t.Run(fmt.Sprintf("on %d, under way: %v", replicas, underWay), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				ctx := t.Context()
				ids := b.tickets(1)
				gate := make(chan struct{})
				judge := evaluator(func(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
					for p := range in {
						<-gate
						if err := accept(p.ID); err != nil {
							return err
						}
					}
					return nil
				})
				first := b.replica(longLease, window(2*time.Second), by(judge))
				second := first
				if replicas == 2 {
					second = b.replica(longLease, window(2*time.Second), by(judge))
				}
				stays := first.start(proposes())
				b.owned(first)
				again := make(chan struct{})
				d := &director{run: func(_ context.Context, propose func(cycle.Proposal) error) error {
					err := propose(proposal("1", 1, ids[0]))
					<-again
					return errors.Join(err, propose(proposal("1", 1, ids[0])))
				}}
				fails := second.start(d)
				b.callers(2)
				want := []string{}
				if underWay {
					holder, err := b.Pool().Begin(ctx)
					require.NoError(t, err)
					_, err = holder.Exec(ctx, "SELECT FROM tickets WHERE id = $1 FOR UPDATE", ids[0])
					require.NoError(t, err)
					close(gate)
					b.Await("SELECT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock')")
					close(again)
					require.Never(t, func() bool { return len(fails.done) > 0 }, 100*time.Millisecond,
						5*time.Millisecond)
					require.NoError(t, holder.Rollback(ctx))
					want = []string{"1"}
				} else {
					close(again)
				}
				requireText(t, fails.wait(t), `MatchMakingFunction returned same match_id twice: "1"`, "<nil>")
				require.Equal(t, want, fails.ids())
				require.NoError(t, b.ReleaseAllTickets(ctx, universe))
				if !underWay {
					close(gate)
				}
				require.NoError(t, stays.wait(t))
				require.Equal(t, ids, b.waiting())
			})
		}
	}
}
