// Package timerslack lets a busy Go program sleep longer than it asks for, which on few CPUs it is better for.
package timerslack

import (
	"os"
	"runtime"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// usual is what Linux gives a process: a sleep may last 50 µs longer, so that the ends of several coincide.
	usual = 50 * time.Microsecond
	// loose is for a program none of whose timers has to be more exact.
	loose = time.Millisecond
	// started tells the program that Loosen started it.
	started = "_LATTICE_TIMERSLACK"
)

// Loosen lets sleeps and timers of this process, and of those that it starts, end up to a millisecond late. While a Go
// program is busy, its monitor (runtime.sysmon) sleeps for 20 µs and looks what the threads do, again and again: up to
// 14,000 times a second, each time ahead of whoever has the CPU, Postgres included. docs/performance.md says what that costs.
//
// Call it first in main, and in no test. The monitor runs already then, and a thread has the slack of the one that began
// it; so the program starts anew, as the same process. A slack that somebody chose (systemd's TimerSlackNSec) stays. On
// systems other than Linux, and where it may not change anything, it does nothing.
func Loosen() {
	if os.Getenv(started) != "" { //nolint:forbidigo // what the program tells itself
		_ = os.Unsetenv(started)
		return
	}
	self, err := os.Executable()
	if err != nil {
		return
	}
	runtime.LockOSThread() // the thread that starts a program hands it its slack
	defer runtime.UnlockOSThread()
	if now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0); err != nil || time.Duration(now) != usual {
		return
	}
	if err := unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(loose), 0, 0, 0); err != nil {
		return
	}
	_ = syscall.Exec(self, os.Args, slices.Concat(os.Environ(), []string{started + "=1"})) //nolint:gosec // this program, as it was started
}
