package dbtest

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// VerifyNoLeaks is what a TestMain calls: it runs the tests, and fails if goroutines are left. Before the process ends,
// it calls the given functions. A private cluster keeps one goroutine for as long as the test process lives, which does
// not count.
func VerifyNoLeaks(m *testing.M, after ...func()) {
	const ofCluster = "github.com/lattice-director/director/internal/dev/pglocal.(*process).runAndWait"
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction(ofCluster), goleak.Cleanup(func(code int) {
		for _, f := range after {
			f()
		}
		os.Exit(code)
	}))
}
