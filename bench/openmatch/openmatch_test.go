package openmatch

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
)

func options(addr, scenario string) bench.Options {
	return bench.Options{
		Scenario: bench.Find(Scenarios, scenario), URLs: []string{addr}, Duration: time.Hour, Token: "shown",
		Load: bench.Load{Callers: 4, Turns: 20, Tickets: 500, Connections: 2},
	}
}

// Pins an echo that the load cannot call, and calls that fail without a reason.
func TestEcho(t *testing.T) {
	t.Parallel()
	addr := must.Get(subprocess.FreeAddrs(t.Context(), 1))(t)[0]
	background.Run(t, func(ctx context.Context) error { return ServeEcho(ctx, addr) })
	res, err := bench.Run(t.Context(), options(addr, "tickets"))
	require.NoError(t, err)
	require.EqualValues(t, 20, res.Calls)
	require.Zero(t, res.Failed, res.Errors)
	require.Equal(t, 2, res.Connections)

	o := options(addr, "fetch")
	o.Load.Tickets = 100
	res, err = bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, res.Calls, res.Errors["Unimplemented"])
	o = options(addr, "watch")
	o.Load.Watchers = 100
	_, err = bench.Run(t.Context(), o)
	require.ErrorContains(t, err, "a watcher was not idle", "nobody was watched")
}
