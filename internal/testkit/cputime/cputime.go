//go:build unix

// Package cputime measures the CPU time of benchmarks: while other programs run, the time by the clock says little.
package cputime

import (
	"syscall"
	"testing"
	"time"
)

// ProcessTime returns the CPU time that this process has used so far.
func ProcessTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}
