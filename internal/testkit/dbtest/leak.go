package dbtest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks is a TestMain: it runs the tests, then the given functions, and fails if goroutines are left. A private
// cluster keeps one goroutine for as long as the test process lives, which does not count.
func VerifyNoLeaks(m *testing.M, after ...func()) {
	const ofCluster = "github.com/lattice-director/director/internal/dev/pglocal.(*process).runAndWait"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(ofCluster), goleak.Cleanup(func(code int) {
		for _, f := range after {
			f()
		}
		os.Exit(code)
	}))
}
