package main

import (
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
