package docker_test

import (
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
}
