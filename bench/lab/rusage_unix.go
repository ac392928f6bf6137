//go:build unix

package lab

import (
	"syscall"
	"time"
)

// OwnCPU is the CPU that this process has used, user and system.
func OwnCPU() time.Duration {
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		return 0
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
