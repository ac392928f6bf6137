package edgegap_test

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/edgegap"
	"github.com/lattice-director/director/provider/edgegap/edgegaptest"
)

// row is the committed state of a deployment.
type row struct {
	spec provider.Spec
	ref  provider.Ref
}

// work takes a row as far as one worker gets before it is killed, or to the end. It follows the package comment of
// provider: the tag is in the row before Deploy, and before a second Deploy it looks for what the first has started.
func (r *row) work(t *testing.T, p *edgegap.Provider, killed bool) {
	found, err := p.Find(t.Context(), r.spec.Owner, r.spec.Tag)
	if err != nil {
		return
	}
	if len(found) > 0 {
		r.ref = found[0].Ref
		return
	}
	o, err := p.Deploy(t.Context(), r.spec)
	if err == nil && !killed { // a worker that is killed here has not committed the answer
		r.ref = o.Ref
	}
}

// Pins servers that nobody knows, or two for one row, after workers that are killed between the provider's answer and
// their commit, answers that are lost, errors of all kinds, and a list that shows deployments late.
func TestOneServerSurvivesForEachRow(t *testing.T) {
	t.Parallel()
	const rows, listAfter = 60, 150 * time.Millisecond
	e := start(t, edgegaptest.Options{ListAfter: listAfter, StartAfter: time.Millisecond, StopAfter: time.Millisecond})
	faults := []edgegaptest.Fault{
		edgegaptest.None, edgegaptest.None, edgegaptest.None, edgegaptest.LoseAnswer, edgegaptest.CutBefore,
		edgegaptest.Fail500, edgegaptest.NotJSON, edgegaptest.NoID, edgegaptest.Refuse,
	}
	all := make([]row, rows)
	for i := range all {
		all[i].spec = spec()
	}
	begin := time.Now()
	for pending := rows; pending > 0; {
		require.Less(t, time.Since(begin), 20*time.Second)
		p := e.client(t, fast) // a new worker
		pending = 0
		for i := range all {
			if all[i].ref != "" {
				continue
			}
			e.QueueFaults("deploy", faults[rand.IntN(len(faults))])
			all[i].work(t, p, rand.IntN(4) == 0)
			e.Drain()
			if all[i].ref == "" {
				pending++
			}
		}
	}
	require.Greater(t, e.Calls("deploy"), rows, "some were deployed more than once")

	// The list is complete now. What is not the row's own is stopped.
	p := e.client(t, fast)
	timer := time.NewTimer(listAfter)
	<-timer.C
	for _, r := range all {
		found, err := p.Find(t.Context(), r.spec.Owner, r.spec.Tag)
		require.NoError(t, err)
		for _, o := range found {
			if o.Ref != r.ref {
				require.NoError(t, p.Stop(t.Context(), o.Ref, 0))
			}
		}
	}
	require.Eventually(t, func() bool { return e.AliveCount() == rows }, 5*time.Second, 5*time.Millisecond)
	for _, r := range all {
		o, err := p.Get(t.Context(), r.ref)
		require.NoError(t, err)
		require.Equal(t, provider.PhaseReady, o.Phase)
	}
}
