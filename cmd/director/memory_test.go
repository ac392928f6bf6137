package main

import (
	"math"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins a GOGC that somebody chose.
//
//nolint:paralleltest // It sets what the whole process has.
func TestLimitMemory(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	limitMemory()
	require.Equal(t, garbage, debug.SetGCPercent(50))
	limitMemory()
	require.Equal(t, 50, debug.SetGCPercent(-1))
	limitMemory()
	require.Equal(t, -1, debug.SetGCPercent(before))
}

//nolint:paralleltest // It sets what the whole process has.
func TestMemoryOr(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	require.Equal(t, 7, memoryOr(7, 128<<20), "a setting is heeded")
	require.Equal(t, 100<<20, memoryOr(0, 128<<20))
	require.Equal(t, 64<<20, memoryOr(0, 64<<20))
	debug.SetMemoryLimit(math.MaxInt64)
	require.Equal(t, 512<<20, memoryOr(0, 512<<20), "without a limit")
}
