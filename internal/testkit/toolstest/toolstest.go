// Package toolstest is for tests that need programs: LeaveOut excludes those whose program a machine does not have, and
// GoCommand runs the go command.
package toolstest

import (
	"flag"
	"fmt"
	"os"
)

// LeaveOut excludes the tests whose names match a pattern of the flag -skip if err, the result of looking for a
// program, is not nil. It says on stderr what is not tested. In CI it ends the process instead. A TestMain calls it
// after flag.Parse.
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
	if given := skip.Value.String(); given != "" {
		pattern = given + "|" + pattern
	}
	_ = skip.Value.Set(pattern) // a string takes any text
}
