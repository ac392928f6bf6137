package realtime

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
)

// Pins a replica that suspended all late sessions between two renewals of its lease, however many and however slowly:
// its lease expired meanwhile.
func TestLateSessionsLeaveTimeForTheLease(t *testing.T) {
	t.Parallel()
	v := serve(t)
	// One that no loop renews beside the test.
	r := newReplica(v.allRegions()[0], v.allRegions()[0].currentReplica.Load().id)
	for n := range 3 * maxLateBatch {
		id := fmt.Sprint("late-", n)
		r.lateSessions[id] = db.SessionEpoch{ID: id}
	}
	require.NoError(t, r.suspendLate(t.Context(), time.Now()))
	require.Len(t, r.lateSessions, 2*maxLateBatch, "one batch, and then it is time to renew")
	require.NoError(t, r.suspendLate(t.Context(), time.Now().Add(time.Hour)))
	require.Empty(t, r.lateSessions)
}
