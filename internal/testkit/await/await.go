// Package await waits for what a test expects on a channel.
package await

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Value returns the next value of a channel; the zero value when the channel is closed. The test fails if neither comes
// within a minute, with a message that names what was awaited.
func Value[T any](t testing.TB, from <-chan T, awaited string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		require.FailNow(t, "waited for a minute", awaited)
	}
	return v
}
