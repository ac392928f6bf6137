package main

import (
	"bytes"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The whole system at work, with a server and a replica killed on the way: all promises are kept. What is printed is what
// `make demo` prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	code := run(t.Context(), []string{"--seconds", "20"}, io.MultiWriter(&out, t.Output()), t.Output())
	require.Equal(t, exitKept, code)
	for _, claim := range []string{
		"Every bot played", "Nobody over capacity", "The killed server's players play on", "The killed replica lost nothing",
		"Everything went on without it", "The drained server took nobody new", "Replayed tokens were refused", "All invariants hold",
		"Everything stopped when told",
	} {
		require.Contains(t, out.String(), "✓ "+claim+"\n")
	}
	require.NotContains(t, out.String(), "\x1b", "colours are for terminals")
	require.Equal(t, 9, strings.Count(out.String(), "\n✓ "))
}

func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"--seconds", "5"}, {"--servers", "2"}, {"--bots", "0"}, {"--sceonds", "20"}} {
		var stderr bytes.Buffer
		require.Equal(t, exitUsage, run(t.Context(), args, io.Discard, &stderr), args)
		require.NotEmpty(t, stderr.String())
	}
}

// A promise that was broken is the exit code's business, and what is left behind helps to find out why.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cluster{dir: t.TempDir()}
	code := conclude(t.Context(), c, newScreen(&out), []proof{{true, "one", "kept"}, {false, "two", "not kept"}}, nil)
	require.Equal(t, exitBroken, code)
	require.Contains(t, out.String(), "✗ two\n    not kept")
	require.Contains(t, out.String(), "1 of 2 promises were broken")
	require.Contains(t, out.String(), c.logs())
	require.DirExists(t, c.dir)
}
