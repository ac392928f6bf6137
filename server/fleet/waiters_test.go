package fleet

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins three live callers of one instance, of which each ended another one's call as soon as it called.
func TestACallWaitsBeforeAnotherEndsIt(t *testing.T) {
	t.Parallel()
	ws, now := newWaiters(10), time.Now()
	oldest, err := ws.joinWaiter("a", now)
	require.NoError(t, err)
	second, err := ws.joinWaiter("a", now)
	require.NoError(t, err)
	_, err = ws.joinWaiter("a", now.Add(waitsAtLeast-1))
	require.ErrorContains(t, err, "one call at a time")
	_, err = ws.joinWaiter("b", now)
	require.NoError(t, err, "another instance is not affected")

	third, err := ws.joinWaiter("a", now.Add(waitsAtLeast))
	require.NoError(t, err)
	<-oldest.displaced
	require.Equal(t, []*waiter{second, third}, ws.byInstance["a"])
	ws.leaveWaiter(oldest)
	require.Equal(t, 3, ws.countWaiting())
}
