// Package longtest decides how much of the slow proofs a test run makes. `make test` makes a representative part of
// each, with the same assertions; `make test-long`, which .ci/run also runs, makes the whole.
package longtest

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// variable is set by `make test-long`.
const variable = "DIRECTOR_TEST_LONG"

// Enabled reports whether this run makes the whole of the slow proofs.
func Enabled() bool { return os.Getenv(variable) != "" }

// Pick returns the size of a proof: the whole in a long run, and the part in others.
func Pick[T any](part, whole T) T {
	if Enabled() {
		return whole
	}
	return part
}

// Only skips a test that a run need not make unless it is a long one. representative names the test by which `make test` holds
// the same promise.
func Only(t testing.TB, representative string) {
	t.Helper()
	if !Enabled() {
		//nolint:forbidigo // no test is left out: .ci/run makes the long form of every package that has one
		t.Skipf("%s=1 runs it; %s represents it here", variable, representative)
	}
}

// LimitRapid sets how often properties are checked that need a database, where rapid checks 100 times: so often in a
// long run as well. -rapid.checks has precedence. Call it in TestMain, before the tests run.
func LimitRapid(checks int) {
	if Enabled() {
		return
	}
	if err := flag.Set("rapid.checks", fmt.Sprint(checks)); err != nil {
		panic(err) // the package has no properties
	}
}
