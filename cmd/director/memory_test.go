package main

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Pins an operator's GOGC that is replaced by the director's default.
//
//nolint:paralleltest // It changes settings of the whole process.
func TestGarbageIsCollectedAsTheOperatorSays(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for environ, want := range map[string]int{"": 200, "GOGC=": 200, "GOGC=100": 123, "GOGC=off": 123} {
		debug.SetGCPercent(123) // what the runtime has read from GOGC when it started
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		addFlags(flags, byServe)
		kek := "DIRECTOR_KEY_ENCRYPTION_KEY=BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
		conf, err := loadSettings(flags,
			newEnvironment([]string{environ, "DATABASE_URL=postgres://localhost/none", kek}), byServe)
		require.NoError(t, err)
		proc, err := openProcess(t.Context(), "serve", conf, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		proc.closeAll()
		require.Equal(t, want, debug.SetGCPercent(100), environ)
	}
}

//nolint:paralleltest // It changes settings of the whole process.
func TestMemoryShare(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	require.Equal(t, 100<<20, memoryShare(128<<20))
	require.Equal(t, 64<<20, memoryShare(64<<20))
	debug.SetMemoryLimit(math.MaxInt64)
	require.Equal(t, 512<<20, memoryShare(512<<20), "without a limit")
}
