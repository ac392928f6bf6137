package roomhost

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins replicas with thousands of processes, where a run takes half a second, and notices that never end.
func TestLongRunsAreRare(t *testing.T) {
	t.Parallel()
	require.Equal(t, minInterval, restAfter(time.Millisecond, time.Second))
	require.Equal(t, 600*time.Millisecond, restAfter(300*time.Millisecond, time.Second))
	require.Equal(t, time.Second, restAfter(3*time.Second, time.Second), "leases are renewed")
}
