package main

import (
	"runtime/debug"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// limitMemory sets GOGC to percent; a negative value turns it off. It also sets the runtime's memory limit to 90 % of the
// container's, unless the operator has set GOMEMLIMIT.
func limitMemory(percent int) {
	debug.SetGCPercent(percent)
	_, _ = memlimit.Set() // without a container's limit there is none for the runtime either
}

// memoryOr returns a setting in bytes or, if that is 0, a quarter of the memory limit and at most most.
func memoryOr(set, most int) int {
	if set > 0 {
		return set
	}
	return int(min(debug.SetMemoryLimit(-1)/4, int64(most)))
}
