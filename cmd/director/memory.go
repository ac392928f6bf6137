package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ballast counts as memory in use, so that garbage is not collected whenever there is as much as a replica keeps, 10 to 20
// MiB, which comes together dozens of times a second. It is never touched, so it takes addresses and no memory.
var ballast = make([]byte, 32<<20)

// garbage is how many per cent of the memory in use may become garbage before it is collected; Go's default is 100.
// Collecting looks through the stack of each watcher, and who calls meanwhile waits for that.
const garbage = 200

// limitMemory lets garbage lie, but hardly more than the container may have. GOGC and GOMEMLIMIT, where they are set, do
// what they always do.
func limitMemory() {
	if chosen := debug.SetGCPercent(garbage); chosen != 100 {
		debug.SetGCPercent(chosen)
	}
	_, _ = memlimit.Set() // nine tenths of the container's; what fails leaves memory without a limit, as it was
}
