package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// garbage is how many per cent of the memory in use may become garbage before it is collected; Go's default is 100. What a
// replica keeps is little, 10 to 20 MiB, and with less garbage would be looked through dozens of times a second; where it is
// more, watchers keep it, the stack of each is looked through, and who calls meanwhile waits for that.
const garbage = 800

// limitMemory lets garbage lie, but hardly more than the container may have. GOGC and GOMEMLIMIT, where they are set, do
// what they always do.
func limitMemory() {
	if chosen := debug.SetGCPercent(garbage); chosen != 100 {
		debug.SetGCPercent(chosen)
	}
	_, _ = memlimit.Set() // nine tenths of the container's; what fails leaves memory without a limit, as it was
}

// memoryOr is a setting in bytes, or if that is 0 a quarter of the memory limit, but no more than most.
func memoryOr(set, most int) int {
	if set > 0 {
		return set
	}
	return int(min(debug.SetMemoryLimit(-1)/4, int64(most)))
}
