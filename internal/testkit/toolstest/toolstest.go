// Package toolstest excludes tests that need a program which a machine does not have.
package toolstest

import (
	"flag"
	"fmt"
	"os"
)

// LeaveOut excludes the tests whose names match a pattern of the flag -skip if err is not nil: it says on stderr what
// is not tested. In CI it ends the process instead. A TestMain calls it after flag.Parse.
func LeaveOut(err error, pattern, what string) {
	if err != nil && os.Getenv("CI") != "" {
		fmt.Fprintf(os.Stderr, "tests with %s: %v\n", what, err)
		os.Exit(1)
	}
	LeaveOutAnywhere(err, pattern, what)
}

// LeaveOutAnywhere is LeaveOut for a program that CI need not have either, because no package of Debian has it.
func LeaveOutAnywhere(err error, pattern, what string) {
	if err == nil {
		return
	}
	fmt.Fprintf(os.Stderr, "NOT TESTED: what needs %s: %v\n", what, err)
	skip := flag.Lookup("test.skip")
	if old := skip.Value.String(); old != "" {
		pattern = old + "|" + pattern
	}
	_ = skip.Value.Set(pattern) // a string
}
