package cycle_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/fault"
)

// Pins a replica that serves no FetchMatches after a statement of one cycle got no answer: each statement has a
// deadline, after which the calls get an error and others can join a cycle.
func TestAHangingDatabaseEndsCallsAndBlocksNoOthers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ids := b.tickets(1)
	r := b.replica()
	running := r.start(proposesThenWaits(proposal("lost", 1, ids[0])))
	b.owned(r)
	holder, err := b.Pool().Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), "LOCK TABLE match_cycles, match_callers, match_proposals IN ACCESS EXCLUSIVE MODE")
	require.NoError(t, err)
	entering := r.start(proposes())
	for _, f := range []*fetching{entering, running} {
		err := f.wait(t)
		require.True(t, fault.Is(err, fault.Unavailable), "%v", err)
	}
	require.NoError(t, holder.Rollback(t.Context()))
	d := proposes(proposal("1", 1, ids[0]))
	require.NoError(t, r.fetch(d))
	require.Equal(t, []string{"1"}, d.ids())
}
