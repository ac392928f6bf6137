// Package await waits for what a test expects on a channel.
package await

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Value returns the next value of a channel, the zero value when the channel is closed. The test fails if nothing
// happens within a minute; what says what it waits for.
func Value[T any](t testing.TB, from <-chan T, what string) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(time.Minute):
		require.FailNow(t, "waited for a minute", what)
	}
	return v
}
