package dbtest

import (
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks is a TestMain: it runs the tests, and fails if they leave goroutines running. A private cluster keeps one
// goroutine for as long as the test process lives, which does not count.
func VerifyNoLeaks(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("github.com/lattice-director/director/internal/pglocal.(*process).run"))
}
