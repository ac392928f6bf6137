package main

import (
	"log/slog"
	"math"
	"runtime/debug"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"
)

// Pins an operator's GOGC=100 that was treated as not set.
//
//nolint:paralleltest // It changes settings of the whole process.
func TestGarbageIsCollectedAsTheOperatorSays(t *testing.T) {
	before := debug.SetGCPercent(100)
	defer debug.SetGCPercent(before)
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	for _, test := range []struct {
		environ []string
		args    []string
		want    int
	}{
		{nil, nil, 200},
		{[]string{"GOGC="}, nil, 200},
		{[]string{"GOGC=100"}, nil, 100},
		{[]string{"GOGC=200"}, nil, 200},
		{[]string{"GOGC=off"}, nil, -1},
		{[]string{"GOGC=800"}, []string{"--gogc", "50"}, 50},
	} {
		flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
		addFlags(flags, byServe)
		require.NoError(t, flags.Parse(test.args))
		kek := "DIRECTOR_KEY_ENCRYPTION_KEY=BwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwcHBwc="
		conf, err := load(flags, newEnvironment(append(test.environ, "DATABASE_URL=postgres://localhost/none", kek)), byServe)
		require.NoError(t, err)
		proc, err := openProcess(t.Context(), "serve", conf, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		proc.close()
		require.Equal(t, test.want, debug.SetGCPercent(100), "%v %v", test.environ, test.args)
	}
}

//nolint:paralleltest // It changes settings of the whole process.
func TestMemoryOr(t *testing.T) {
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(400 << 20))
	require.Equal(t, 7, memoryOr(7, 128<<20), "the setting has precedence")
	require.Equal(t, 100<<20, memoryOr(0, 128<<20))
	require.Equal(t, 64<<20, memoryOr(0, 64<<20))
	debug.SetMemoryLimit(math.MaxInt64)
	require.Equal(t, 512<<20, memoryOr(0, 512<<20), "without a limit")
}
