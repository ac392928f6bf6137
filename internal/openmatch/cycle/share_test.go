package cycle_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/openmatch/cycle"
	"github.com/lattice-director/director/internal/testkit/metrictest"
)

// acceptsAtOnce makes an evaluator that accepts all proposals while it locks the cycle's row, so that no batch is
// committed before all matches are accepted.
func (b *bundle) acceptsAtOnce() evaluator {
	return func(ctx context.Context, in <-chan cycle.Proposal, accept func(string) error) error {
		var all []string
		for p := range in {
			all = append(all, p.ID)
		}
		holder, err := b.Pool().Begin(ctx)
		if err != nil {
			return err
		}
		_, err = holder.Exec(ctx, "SELECT FROM match_cycles FOR UPDATE")
		for _, id := range all {
			err = errors.Join(err, accept(id))
		}
		return errors.Join(err, holder.Rollback(ctx))
	}
}

// Pins a region that waits for one caller with very many matches: all were committed, the best first, for any length of
// time. Here there is time for one batch after the evaluator has ended.
func TestACallerWithVeryManyMatchesDoesNotDelayOthers(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 2} {
		t.Run(fmt.Sprint(replicas), func(t *testing.T) {
			t.Parallel()
			const many, batch = 20_000, 4096 // a match without tickets has weight 1
			b, metrics := setup(t), prometheus.NewRegistry()
			ids := b.tickets(1)
			brief := func(o *cycle.Options) { o.Acceptance = 1 }
			first := b.replica(longLease, window(time.Second), by(b.acceptsAtOnce()), brief, func(o *cycle.Options) { o.Metrics = metrics })
			second := first
			if replicas == 2 {
				second = b.replica(longLease, window(time.Second), by(b.acceptsAtOnce()), brief)
			}
			var best []cycle.Proposal
			for i := range many {
				best = append(best, proposal(fmt.Sprint(i), 100))
			}
			greedy := first.start(proposes(best...))
			b.owned(first)
			modest := second.start(proposes(proposal("modest", 1, ids...)))
			require.NoError(t, modest.wait(t))
			require.NoError(t, greedy.wait(t))
			require.Equal(t, []string{"modest"}, modest.ids(), "in the same cycle")
			got := len(greedy.ids())
			require.Positive(t, got)
			require.LessOrEqual(t, got, 4*batch, "batches committed while the evaluator accepted, and one more")
			require.InDelta(t, many-got, metrictest.Sum(t, metrics, "director_match_verdicts_total", "verdict", "out_of_time"),
				0)
		})
	}
}
