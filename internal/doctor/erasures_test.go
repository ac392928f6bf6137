package doctor

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/opsview"
)

func TestJudgeErasures(t *testing.T) {
	t.Parallel()
	now := time.Now()
	require.Equal(t, goodFinding("no player is being erased"), judgeErasures(nil, now))
	fresh := opsview.Erasure{Erasure: uuid.Max, Actor: "ada", RequestedAt: now.Add(-9 * time.Minute), Rows: 7}
	require.Equal(t, OK, judgeErasures([]opsview.Erasure{fresh}, now).State)
	old := fresh
	old.RequestedAt = now.Add(-time.Hour)
	found := judgeErasures([]opsview.Erasure{old, fresh}, now)
	require.Equal(t, Warn, found.State)
	require.Equal(t, "2 players are being erased; the oldest erasure, ffffffff-ffff-ffff-ffff-ffffffffffff by ada, was requested 1h0m0s ago, "+
		"has changed 7 rows, and its first pass is not over", found.Says)
	old.ErasedAt = &now
	require.Contains(t, judgeErasures([]opsview.Erasure{old}, now).Says, "and its last pass is not over")
}
