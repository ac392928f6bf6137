package docker_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/docker/dockertest"
)

// Pins a log with the engine's frames in it.
func TestReadLog(t *testing.T) {
	t.Parallel()
	e := start(t, dockertest.Options{})
	p, s := e.open(t), spec()
	_, err := p.ReadLog(t.Context(), provider.Ref(s.Tag), 10)
	require.Equal(t, provider.Gone, provider.KindOf(err))
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	for lines, want := range map[int]string{10: "starts\nlistens\ncannot save\n", 1: "cannot save\n"} {
		text, err := p.ReadLog(t.Context(), o.Ref, lines)
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	e.QueueFault("log", dockertest.Fail500)
	_, err = p.ReadLog(t.Context(), o.Ref, 1)
	require.Equal(t, provider.Transient, provider.KindOf(err), "%v", err)
}

// Pins a log of more than 4 MiB, of which nothing could be read.
func TestTheEndOfALongLogIsRead(t *testing.T) {
	t.Parallel()
	printed := make([]string, 2000)
	for i := range printed {
		printed[i] = fmt.Sprintf("%08d %s\n", i, strings.Repeat("x", 8<<10))
	}
	e := start(t, dockertest.Options{Log: printed})
	p, s := e.open(t), spec()
	o, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	text, err := p.ReadLog(t.Context(), o.Ref, len(printed))
	require.NoError(t, err)
	require.Len(t, text, 4<<20)
	require.True(t, strings.HasSuffix(strings.Join(printed, ""), string(text)))
	text, err = p.ReadLog(t.Context(), o.Ref, 2)
	require.NoError(t, err)
	require.Equal(t, printed[1998]+printed[1999], string(text))
}
