package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// garbagePercent is GOGC unless the operator sets it. Twice Go's own 100 costs memory and saves CPU; near the memory
// limit, Go collects earlier by itself.
const garbagePercent = 200

// limitMemory sets the runtime's memory limit to 90 % of the container's, and how much garbage there may be below it.
// What the operator has set with Go's own GOMEMLIMIT and GOGC remains.
func limitMemory(environ environment) {
	if _, set := environ.lookup("GOGC"); !set {
		debug.SetGCPercent(garbagePercent)
	}
	_, _ = memlimit.Set() // fails where no container bounds the memory: then nothing is limited
}

// memoryShare returns a quarter of the memory limit, and at most maxBytes. A negative argument of SetMemoryLimit
// reads the limit; without one it is math.MaxInt64.
func memoryShare(maxBytes int) int {
	return int(min(debug.SetMemoryLimit(-1)/4, int64(maxBytes)))
}
