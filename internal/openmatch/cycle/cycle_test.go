package cycle_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/metrictest"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestTheBestMatchesAreDeliveredAndTheirTicketsPending(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(5)
	d := proposes(proposal("low", 1, ids[0], ids[1]), proposal("high", 2, ids[1], ids[2]), proposal("other", 0, ids[3]))
	d.deliver = func(m cycle.Accepted) error {
		for _, id := range m.Proposal.Tickets {
			require.NotContains(t, b.waiting(), id, "pending is committed before a match is delivered")
		}
		return nil
	}
	require.NoError(t, b.replica().fetch(d))
	require.Equal(t, []string{"high", "other"}, d.ids())
	require.Equal(t, "match high", string(d.got[0].Proposal.Match))
	require.Equal(t, []string{ids[0], ids[4]}, b.waiting())
	require.Equal(t, "high", storetest.One[string](b.DB,
		"SELECT convert_from(substr(matched_in, 17), 'UTF8') FROM tickets WHERE id = $1", ids[1]))
}

// Pins a call that ends before registration: other callers could still join the cycle.
func TestNothingToMatchEndsAfterTheWindow(t *testing.T) {
	t.Parallel()
	r := setup(t).replica(window(200 * time.Millisecond))
	began := time.Now()
	require.NoError(t, r.fetch(proposes()))
	require.GreaterOrEqual(t, time.Since(began), 200*time.Millisecond)
	require.Less(t, time.Since(began), 2*time.Second)
}

// Pins a registration interval of zero that still waits.
func TestWithoutARegistrationWindowCallsDoNotWait(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.replica(window(0))
	ids := b.tickets(20)
	require.NoError(t, r.fetch(proposes()))
	var took []time.Duration
	for i, id := range ids {
		began := time.Now()
		d := proposes(proposal(fmt.Sprint(i), 1, id))
		require.NoError(t, r.fetch(d))
		took = append(took, time.Since(began))
		require.Len(t, d.got, 1)
	}
	slices.Sort(took)
	t.Logf("median %v, longest %v", took[len(took)/2], took[len(took)-1])
	require.Less(t, took[len(took)/2], 30*time.Millisecond)
}

func TestACycleSeesWhatItsCallersProposeTogether(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(2)
	r := b.replica(window(time.Second))
	low, high := proposes(proposal("low", 1, ids[0])), proposes(proposal("high", 2, ids[0], ids[1]))
	calls := []*fetching{r.start(low), r.start(high)}
	for _, c := range calls {
		require.NoError(t, c.wait(t))
	}
	require.Empty(t, low.ids())
	require.Equal(t, []string{"high"}, high.ids())
	require.Equal(t, int64(1), storetest.One[int64](b.DB, "SELECT count(*) FROM match_cycles"))
}

// Pins matches with tickets that are no longer free, which are dropped, and matches with ids that were never issued,
// which are kept.
func TestMatchesThatMissATicketAreDropped(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ctx := t.Context()
	ids := b.tickets(6)
	require.NoError(t, b.DeleteTicket(ctx, universe, ids[0]))
	missing, err := b.AssignTickets(ctx, universe,
		db.Assignments{Groups: []db.Assignment{{TicketIDs: ids[1:2], EncodedAssignment: []byte("there")}}})
	require.NoError(t, err)
	require.Empty(t, missing)
	b.Exec("UPDATE tickets SET pending_at = clock_timestamp() WHERE id = $1", ids[2])
	b.Exec("UPDATE tickets SET expires_at = clock_timestamp() WHERE id = $1", ids[3])
	b.Exec("UPDATE tickets SET pending_at = clock_timestamp() - interval '1 minute' WHERE id = $1", ids[4])

	metrics := prometheus.NewRegistry()
	d := proposes(
		proposal("deleted", 9, ids[0], ids[5]), proposal("assigned", 8, ids[1]), proposal("pending", 7, ids[2]),
		proposal("expired", 6, ids[3]),
		proposal("pending too long", 5, ids[4]), proposal("strangers", 4, "never", "\x00", ""), proposal("none", 3),
	)
	require.NoError(t, b.replica(func(o *cycle.Options) { o.Metrics = metrics }).fetch(d))
	require.Equal(t, []string{"pending too long", "strangers", "none"}, d.ids())
	require.Equal(t, []string{ids[5]}, b.waiting(), "the tickets of a dropped match stay free")
	count := func(verdict string) float64 {
		return metrictest.Sum(t, metrics, "director_match_verdicts_total", "verdict", verdict)
	}
	require.InDelta(t, 4, count("ticket_gone"), 0)
	require.InDelta(t, 3, count("kept"), 0)
}

// stream accepts each proposal at once.
type stream struct{}

func (stream) Evaluate(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
	for p := range in {
		if err := accept(p.ID); err != nil {
			return err
		}
	}
	return nil
}

// evaluator is an evaluator that is a function.
type evaluator func(ctx context.Context, in <-chan cycle.Proposal, accept func(string) error) error

func (e evaluator) Evaluate(ctx context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
	return e(ctx, in, accept)
}

func by(e cycle.Evaluator) func(*cycle.Options) { return func(o *cycle.Options) { o.Evaluator = e } }

// Pins an evaluator that gets no proposals before all have arrived.
func TestMatchesAreDeliveredDuringRegistration(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(2)
	arrived := make(chan struct{}, 2)
	d := proposesThenWaits(proposal("1", 0, ids[0]), proposal("2", 0, ids[1]))
	d.deliver = func(cycle.Accepted) error { arrived <- struct{}{}; return nil }
	f := b.replica(window(time.Hour), by(stream{})).start(d)
	<-arrived
	<-arrived
	require.Empty(t, b.waiting())
	require.Equal(t, []string{"1", "2"}, d.ids())
	f.cancel()
	require.ErrorIs(t, f.wait(t), context.Canceled)
}

func TestErrorsHaveTheProtocolsTexts(t *testing.T) {
	t.Parallel()
	broken := func(all ...cycle.Proposal) *director {
		d := proposes(all...)
		run := d.run
		d.run = func(ctx context.Context, propose func(cycle.Proposal) error) error {
			return errors.Join(run(ctx, propose), errors.New("no luck"))
		}
		return d
	}
	overrun := "match function ran longer than proposal window, canceling"
	accepts := func(ids ...string) cycle.Evaluator {
		return evaluator(func(_ context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
			for range in {
			}
			for _, id := range ids {
				_ = accept(id) // the evaluator ignores the error
			}
			return nil
		})
	}
	for name, c := range map[string]struct {
		evaluator       cycle.Evaluator
		call, other     *director
		syncErr, mmfErr string // of call
		otherErr        string // syncErr of other, empty for no error
		got, otherGot   []string
	}{
		"a match function fails": {
			call: broken(proposal("1", 1)), other: proposes(proposal("2", 1)),
			syncErr: "<nil>", mmfErr: "no luck", got: []string{"1"}, otherGot: []string{"2"},
		},
		"a match function hangs": {
			call: proposesThenWaits(proposal("1", 1)), other: proposes(proposal("2", 1)),
			syncErr: "<nil>", mmfErr: overrun, got: []string{"1"}, otherGot: []string{"2"},
		},
		"a match_id comes twice": {
			call: proposes(proposal("1", 1), proposal("1", 1)), other: proposes(proposal("2", 1)),
			syncErr: `MatchMakingFunction returned same match_id twice: "1"`, mmfErr: "<nil>", got: []string{}, otherGot: []string{"2"},
		},
		"two callers use a match_id": {
			call: proposes(proposal("1", 1)), other: proposes(proposal("1", 1)),
			syncErr: `multiple match functions used same match_id: "1"`, mmfErr: "<nil>",
			otherErr: `multiple match functions used same match_id: "1"`, got: []string{}, otherGot: []string{},
		},
		"the evaluator makes an id up": {
			evaluator: accepts("3"), call: proposes(proposal("1", 1)), other: proposes(proposal("2", 1)),
			syncErr: `evaluator returned match_id "3" which does not correspond to its any match in its input`, mmfErr: "<nil>",
			otherErr: `evaluator returned match_id "3" which does not correspond to its any match in its input`, got: []string{}, otherGot: []string{},
		},
		"the evaluator accepts twice": {
			evaluator: accepts("1", "1"), call: proposes(proposal("1", 1)), other: proposes(proposal("2", 1)),
			syncErr: `evaluator returned same match_id twice: "1"`, mmfErr: "<nil>",
			otherErr: `evaluator returned same match_id twice: "1"`, got: []string{"1"}, otherGot: []string{},
		},
		"the evaluator fails": {
			evaluator: evaluator(func(context.Context, <-chan cycle.Proposal,
				func(string) error) error {
				return errors.New("boom")
			}),
			call: proposesThenWaits(), other: proposes(proposal("2", 1)),
			syncErr: "boom", mmfErr: "<nil>", otherErr: "boom", got: []string{}, otherGot: []string{},
		},
		"the evaluator hangs": {
			evaluator: evaluator(func(ctx context.Context, _ <-chan cycle.Proposal, _ func(string) error) error {
				<-ctx.Done()
				return nil
			}),
			call: proposes(), other: proposes(proposal("2", 1)),
			syncErr: "evaluator ran longer than it may, canceling", mmfErr: "<nil>",
			otherErr: "evaluator ran longer than it may, canceling", got: []string{}, otherGot: []string{},
		},
	} {
		for _, replicas := range []int{1, 2} {
			t.Run(fmt.Sprintf("%s on %d", name, replicas), func(t *testing.T) {
				t.Parallel()
				b := setup(t)
				options := []func(*cycle.Options){
					window(time.Second),
					func(o *cycle.Options) { o.Collection, o.Evaluation = time.Second, time.Second },
				}
				if c.evaluator != nil {
					options = append(options, by(c.evaluator))
				}
				// The subtests share the directors' functions, but not the matches.
				call, other := &director{run: c.call.run}, &director{run: c.other.run}
				first := b.replica(options...)
				second := first
				if replicas == 2 {
					second = b.replica(options...)
				}
				f, o := first.start(call), second.start(other)
				requireText(t, f.wait(t), c.syncErr, c.mmfErr)
				if c.otherErr == "" {
					require.NoError(t, o.wait(t))
				} else {
					requireText(t, o.wait(t), c.otherErr, "<nil>")
				}
				require.Equal(t, c.got, call.ids())
				require.Equal(t, c.otherGot, other.ids())
			})
		}
	}
}

// Pins a proposal whose score cannot be decoded: only a custom evaluator gets it.
func TestUnreadableScores(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		evaluator cycle.Evaluator
		got       []string
	}{"default": {nil, []string{"good"}}, "another": {stream{}, []string{"bad", "good"}}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := proposal("bad", 5)
			bad.Score, bad.Unreadable = nil, true
			d := proposes(bad, proposal("good", 1))
			require.NoError(t, setup(t).replica(by(c.evaluator)).fetch(d))
			require.Equal(t, c.got, d.ids())
		})
	}
}

// Pins match functions that fill the memory of a replica, or the rows of tickets.
func TestMatchFunctionsAreBounded(t *testing.T) {
	t.Parallel()
	many := func(each func(n int) cycle.Proposal) *director {
		return &director{run: func(_ context.Context, propose func(cycle.Proposal) error) error {
			for n := 0; ; n++ {
				if err := propose(each(n)); err != nil {
					return errors.New("not the error of the call")
				}
			}
		}}
	}
	big := make([]byte, 9<<20)
	for want, d := range map[string]*director{
		"match function proposed more than 100000 matches": many(func(n int) cycle.Proposal { return proposal(fmt.Sprint(n), 0) }),
		"match function proposed more than 64 MiB": many(func(n int) cycle.Proposal {
			p := proposal(fmt.Sprint(n), 0)
			p.Match = big
			return p
		}),
		"match function returned a match_id of more than 4096 bytes": many(func(int) cycle.Proposal { return proposal(string(big[:4097]), 0) }),
		"match function returned a match whose tickets and match_id come to more than 16 MiB": many(func(int) cycle.Proposal {
			return proposal(string(big[:4096]), 0, make([]string, 5000)...)
		}),
	} {
		t.Run(want, func(t *testing.T) {
			t.Parallel()
			b := setup(t)
			r := b.replica(window(500 * time.Millisecond))
			f, other := r.start(d), r.start(proposes(proposal("other", 1)))
			requireText(t, f.wait(t), "<nil>", want)
			require.NoError(t, other.wait(t))
			require.Equal(t, []string{"other"}, other.ids(), "other calls are not affected")
		})
	}
}

// Pins cycles that wait for a director that reads its matches slowly, or not at all.
func TestASlowDirectorDelaysNoOtherCalls(t *testing.T) {
	t.Parallel()
	b := setup(t)
	r := b.replica(window(0))
	reads := make(chan struct{})
	slow := proposes(proposal("1", 1), proposal("2", 0))
	slow.deliver = func(cycle.Accepted) error { <-reads; return nil }
	f := r.start(slow)
	require.Eventually(t, func() bool { return len(slow.ids()) == 1 }, 10*time.Second, time.Millisecond)
	next := proposes(proposal("1", 1))
	require.NoError(t, r.fetch(next))
	require.Equal(t, []string{"1"}, next.ids())
	close(reads)
	require.NoError(t, f.wait(t))
	require.Equal(t, []string{"1", "2"}, slow.ids())

	gone := proposesThenWaits(proposal("1", 1))
	gone.deliver = func(cycle.Accepted) error { return errors.New("it hung up") }
	require.ErrorContains(t, b.replica(window(time.Hour), by(stream{})).fetch(gone), "it hung up")
}

func TestNewRefusesInvalidOptions(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, err := cycle.New(cycle.Options{Store: b.Store, Universe: universe})
	require.ErrorContains(t, err, "are required")
	metrics := prometheus.NewRegistry()
	o := cycle.Options{Store: b.Store, Universe: universe, Replica: uuid.New(), Metrics: metrics}
	_, err = cycle.New(o)
	require.NoError(t, err)
	_, err = cycle.New(o)
	require.ErrorContains(t, err, "cycle metrics")
}
