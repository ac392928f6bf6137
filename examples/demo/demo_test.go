package main

import (
	"bytes"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The whole system at work, with a server and a replica killed on the way: all promises are kept. What is printed is what
// `make demo` prints.
func TestDemo(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	require.Equal(t, exitKept, run(t.Context(), 20*time.Second, io.MultiWriter(&out, t.Output())))
	for _, claim := range []string{
		"Every bot played", "Those who waited for a server got one", "Every matched player had one seat", "No match breaks its rules",
		"Matching went on without its worker", "Nobody over capacity", "The killed server's players play on", "The killed replica lost nothing",
		"Everything went on without it", "The drained server took nobody new", "Replayed tokens were refused", "All invariants hold",
		"Servers started when players came", "A worker died while servers started, and none was lost or doubled", "The pool shrank to nothing",
		"Friends on two replicas share one room", "The lobby leads to a game server", "The killed replica's clients kept their rooms",
		"Everything stopped when told",
	} {
		require.Contains(t, out.String(), "✓ "+claim+"\n")
	}
	require.Equal(t, 19, strings.Count(out.String(), "\n✓ "))
}

func TestLength(t *testing.T) {
	t.Parallel()
	length, err := parseLength("")
	require.NoError(t, err)
	require.Equal(t, time.Minute, length)
	for _, bad := range []string{"5", "x", "3601"} {
		_, err := parseLength(bad)
		require.ErrorContains(t, err, "from 15 to 3600")
	}
}

// After a broken promise the exit code is 1, and the logs are kept.
func TestBrokenPromise(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := &cluster{dir: t.TempDir()}
	code := conclude(t.Context(), c, &screen{out: &out}, []proof{{true, "one", "kept"}, {false, "two", "not kept"}}, nil)
	require.Equal(t, exitBroken, code)
	require.Contains(t, out.String(), "✗ two\n    not kept")
	require.Contains(t, out.String(), "1 of 2 promises were broken")
	require.Contains(t, out.String(), c.logs())
	require.DirExists(t, c.dir)
}
