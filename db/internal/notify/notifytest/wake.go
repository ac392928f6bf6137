// Package notifytest holds what tests require of a subscriber's wake-up channel.
package notifytest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const timeout = 20 * time.Second // far longer than a notice takes, even on a busy machine

// RequireWoken waits until the subscriber is woken, and fails the test if that does not happen.
func RequireWoken(t testing.TB, wake <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-wake:
	case <-time.After(timeout):
		require.Fail(t, "was not woken", why)
	}
}

// RequireAsleep fails the test if the subscriber was woken.
func RequireAsleep(t testing.TB, wake <-chan struct{}, why string) {
	t.Helper()
	select {
	case <-wake:
		require.Fail(t, "was woken", why)
	default:
	}
}
