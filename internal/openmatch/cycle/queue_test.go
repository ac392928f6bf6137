package cycle

import (
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// Pins turns that change the order of two matches with a common ticket, and a batch that is never made because its
// first match exceeds the limit.
func TestProposersTakeTurns(t *testing.T) {
	t.Parallel()
	many, few := uuid.New(), uuid.New()
	q := queue{byCaller: map[uuid.UUID][]*candidate{}}
	add := func(caller uuid.UUID, id string, tickets ...string) {
		q.addCandidate(&candidate{proposal: Proposal{ID: id, Tickets: tickets},
			callerID: caller})
	}
	next := func(limit int) (ids []string) {
		for _, c := range q.takeBatch(limit) {
			ids = append(ids, c.proposal.ID)
		}
		return ids
	}
	require.Empty(t, next(10))
	for _, id := range []string{"a", "b", "c", "d"} {
		add(many, id, "t")
	}
	add(few, "x", "t")
	require.Equal(t, []string{"a", "b", "x"}, next(6), "both have turns; the batch is in the order of acceptance")
	add(many, "large", "t", "t", "t", "t", "t", "t")
	require.Equal(t, []string{"c", "d"}, next(6))
	require.Equal(t, 1, q.matchCount)
	require.Equal(t, []string{"large"}, next(6), "one at least")
	require.Zero(t, q.matchCount)
}
