package realtime

import (
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/sdk/lobby"
)

// startEcho returns its URL.
func startEcho(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(Echo())
	t.Cleanup(server.Close)
	return server.URL
}

// Pins an echo that the scenario cannot call, and idle sessions that are not connected.
func TestEcho(t *testing.T) {
	t.Parallel()
	res, err := bench.Run(t.Context(), bench.Options{
		Scenario: bench.Find(Scenarios, "rooms-idle"), URLs: []string{startEcho(t)}, Duration: time.Hour,
		Load: bench.Load{Callers: 2, Turns: 2, Sessions: 100},
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Calls)
	require.Zero(t, res.Failed, res.Errors)
	require.Equal(t, 100, res.Sessions)
}

// Pins a run that waits for ever for a client that was closed.
func TestDisconnected(t *testing.T) {
	t.Parallel()
	crowd := NewCrowd("", 1)
	crowd.roomSize = 0 // the echo has none
	require.NoError(t, crowd.Join(t.Context(), []string{startEcho(t)}))
	c := crowd.clients[0]
	require.NotEmpty(t, c.Status().Session)
	require.Zero(t, c.Status().Resumed)
	require.NoError(t, c.Room("room").Leave(t.Context()))
	c.Close()
	require.ErrorIs(t, c.Room("room").Leave(t.Context()), lobby.ErrClosed)
	require.ErrorIs(t, awaitSeq(t.Context(), c, "room", 0), lobby.ErrClosed)
}

// Pins usual loads that are refused, and a warm-up that is longer than the run.
func TestUsualLoads(t *testing.T) {
	t.Parallel()
	for _, s := range Scenarios {
		o := bench.Options{Scenario: s, URLs: []string{"http://127.0.0.1:1"}, Duration: 1, WarmUp: 1, Load: s.Usual}
		require.NoError(t, o.Check(), s.Name)
		require.Equal(t, s.IsAlone, o.WarmUp == 0)
	}
}
