package openmatch

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/dev/subprocess"
	"github.com/lattice-director/director/internal/testkit/must"
)

// startEcho returns its address.
func startEcho(t *testing.T) string {
	addr := must.Get(subprocess.FreeAddrs(t.Context(), 1))(t)[0]
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeEcho(ctx, addr) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return addr
}

func options(addr, scenario string) bench.Options {
	return bench.Options{
		Scenario: bench.Find(Scenarios, scenario), URLs: []string{addr}, Duration: time.Hour, Token: "shown",
		Load: bench.Load{Callers: 4, Turns: 20, Tickets: 500, Connections: 2},
	}
}

// Pins a load that counts tickets wrongly, an echo that sends larger messages than clients accept, and calls that fail
// without a reason.
func TestEcho(t *testing.T) {
	t.Parallel()
	addr := startEcho(t)
	for _, scenario := range []string{"tickets", "query"} {
		res, err := bench.Run(t.Context(), options(addr, scenario))
		require.NoError(t, err)
		require.EqualValues(t, 20, res.Calls)
		require.Zero(t, res.Failed, res.Errors)
		require.Equal(t, 2, res.Connections)
	}
	l := &load{job: &bench.Job{}}
	conn, err := l.connect(addr)
	require.NoError(t, err)
	defer func() { require.NoError(t, conn.grpc.Close()) }()
	n, err := conn.count(t.Context(), poolOf("many", 2*echoPage+1))
	require.NoError(t, err)
	require.Equal(t, 2*echoPage+1, n)

	o := options(addr, "fetch")
	o.Tickets = 100
	res, err := bench.Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, res.Calls, res.Errors["Unimplemented"])
	o = options(addr, "watch")
	o.Watchers = 100
	_, err = bench.Run(t.Context(), o)
	require.ErrorContains(t, err, "watchers cannot be assigned", "nobody was watched")
}
