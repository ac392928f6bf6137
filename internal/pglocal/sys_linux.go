package pglocal

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// bind makes the kernel send signal to the child when the thread that starts it ends.
func bind(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// guard has nothing to add to bind.
func guard(int, syscall.Signal) (release func(), err error) { return func() {}, nil }

// runsIn reports whether the process is a postmaster on this data directory, which it makes its working directory. A
// zombie is none, nor is a process we may not look at: a postmaster runs as the directory's owner.
func runsIn(pid int, data string) bool {
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		return false
	}
	resolved, err := filepath.EvalSymlinks(data)
	return err == nil && cwd == resolved
}
