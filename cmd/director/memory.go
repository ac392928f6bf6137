package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory sets when garbage is collected: once there is percent as much of it as memory in use, never where percent is
// negative; and sooner from nine tenths of the container's memory on. A GOMEMLIMIT that the operator sets stays as it is.
func limitMemory(percent int) {
	debug.SetGCPercent(percent)
	_, _ = memlimit.Set() // where it fails, memory has no limit, as before
}

// memoryOr is a setting in bytes, or if that is 0 a quarter of the memory limit, but no more than most.
func memoryOr(set, most int) int {
	if set > 0 {
		return set
	}
	return int(min(debug.SetMemoryLimit(-1)/4, int64(most)))
}
