package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// garbagePercent is GOGC unless the operator sets it: less CPU for more memory, as far as the container's memory
// allows.
const garbagePercent = 200

// limitMemory sets the runtime's memory limit to 90 % of the container's, and how much garbage there may be below it.
// What the operator has set with Go's own GOMEMLIMIT and GOGC remains.
func limitMemory(environ environment) {
	if _, set := environ.lookup("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
	_, _ = memlimit.Set() // without a container's limit there is none for the runtime either
}

// memoryShare returns a quarter of the memory limit, and at most so many bytes.
func memoryShare(most int) int {
	return int(min(debug.SetMemoryLimit(-1)/4, int64(most)))
}
