package process

import (
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/provider"
)

// Pins a tidier that stops a server for what it had read before another director, which held the lock, started it anew.
func TestTidyJudgesAgainUnderTheLock(t *testing.T) {
	t.Parallel()
	p := must.Get(New(Config{Dir: t.TempDir(), Commands: map[string][]string{"arena": {"/bin/sleep", "60"}},
		Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(p.Close)
	spec := provider.Spec{Tag: "ld-test-tidy", Owner: "ld-test", App: "arena"}
	before := deployment{dir: p.dirOf(spec.Tag), state: state{Tag: spec.Tag, Owner: spec.Owner, App: spec.App,
		Started: time.Now().Add(-3 * time.Hour), Ends: time.Now().Add(-time.Hour)}}
	_, err := p.Deploy(t.Context(), spec)
	require.NoError(t, err)
	require.True(t, before.isDue(time.Now()))
	require.NoError(t, p.tidyOne(t.Context(), before, time.Now()))
	require.False(t, before.hasFile("stop.json"), "its lifetime has only begun")
	require.NoError(t, p.Stop(t.Context(), provider.Ref(spec.Tag), 0))
}
