// Package longtest decides how much of the slow proofs a test run makes. `make test` makes a representative part of
// each, with the same assertions; `make test-long`, which .ci/run also runs, makes the whole.
package longtest

import (
	"flag"
	"fmt"
	"os"
	"testing"
)

// envLong names the variable that `make test-long` sets.
const envLong = "DIRECTOR_TEST_LONG"

// Enabled reports whether this run makes the whole of the slow proofs.
func Enabled() bool { return os.Getenv(envLong) != "" }

// Pick returns the size of a proof: the whole in a long run, and the part in others.
func Pick[T any](part, whole T) T {
	if Enabled() {
		return whole
	}
	return part
}

// Only skips a test unless the run is a long one. representative names the test that checks the same promise in
// `make test`.
func Only(t testing.TB, representative string) {
	t.Helper()
	if !Enabled() {
		//nolint:forbidigo // no test is left out: .ci/run makes the long form of every package that has one
		t.Skipf("%s=1 runs it; %s represents it here", envLong, representative)
	}
}

// LimitRapid sets how often each property of the test binary is checked, for properties that need a database: a long
// run checks them 100 times, as is usual with rapid. A TestMain calls it before the flags are parsed, so that
// -rapid.checks has precedence.
func LimitRapid(checks int) {
	if Enabled() {
		return
	}
	if err := flag.Set("rapid.checks", fmt.Sprint(checks)); err != nil {
		panic(err) // the package has no properties
	}
}
