package pglocal

import (
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// bind makes the kernel send signal to the child when the thread that starts it ends.
func bind(attr *syscall.SysProcAttr, signal syscall.Signal) { attr.Pdeathsig = signal }

// guard does nothing, because bind is enough on Linux.
func guard(int, syscall.Signal) (release func(), err error) { return func() {}, nil }

// runsIn reports whether the process is a postmaster of this data directory, which is a postmaster's working directory.
// It returns false for a zombie, and for a process that it may not inspect: a postmaster runs as the directory's owner.
func runsIn(pid int, data string) bool {
	cwd, err := os.Readlink(filepath.Join("/proc", strconv.Itoa(pid), "cwd"))
	if err != nil {
		return false
	}
	resolved, err := filepath.EvalSymlinks(data)
	return err == nil && cwd == resolved
}
