package manual_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/manual"
)

// Pins a deployment that the loop could not end, or one that a sweep takes for lost.
func TestManual(t *testing.T) {
	t.Parallel()
	var p provider.Provider = manual.Provider{}
	require.Equal(t, provider.Capabilities{NativeNames: true}, p.Capabilities())
	s := provider.Spec{Tag: provider.NewTag(), Owner: "ld-test", App: "arena"}
	first, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, provider.PhaseReady, first.Phase)
	second, err := p.Deploy(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, first, second, "a tag names one deployment")
	got, err := p.Get(t.Context(), first.Ref)
	require.NoError(t, err)
	require.Equal(t, first, got)
	found, err := p.Find(t.Context(), s.Owner, s.Tag)
	require.NoError(t, err)
	require.Equal(t, []provider.Observation{first}, found)
	require.Equal(t, provider.Gone, provider.KindOf(p.Stop(t.Context(), first.Ref, time.Second)))
	_, err = p.List(t.Context(), s.Owner, "")
	require.Equal(t, provider.Permanent, provider.KindOf(err), "an empty list would prove that all are gone")
}

func TestManualRefuses(t *testing.T) {
	t.Parallel()
	p := manual.Provider{}
	_, err := p.Deploy(t.Context(), provider.Spec{})
	require.Equal(t, provider.Permanent, provider.KindOf(err))
	o, err := p.Get(t.Context(), "../..")
	require.NoError(t, err)
	require.Equal(t, provider.PhaseAbsent, o.Phase)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = p.Deploy(ended, provider.Spec{Tag: provider.NewTag(), Owner: "ld-test", App: "arena"})
	require.Equal(t, provider.Transient, provider.KindOf(err))
	_, err = p.Get(ended, "a")
	require.Equal(t, provider.Transient, provider.KindOf(err))
	_, err = p.Find(ended, "ld-test", "a")
	require.Equal(t, provider.Transient, provider.KindOf(err))
	require.Equal(t, provider.Transient, provider.KindOf(p.Stop(ended, "a", 0)))
}
