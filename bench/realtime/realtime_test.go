package realtime

import (
	"context"
	"net"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk/lobby"
)

// startEcho returns its URL.
func startEcho(t *testing.T) string {
	t.Helper()
	listener := must.Get(new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"))(t)
	ctx, stop := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- ServeEcho(ctx, listener) }()
	t.Cleanup(func() {
		stop()
		require.NoError(t, <-served)
	})
	return "http://" + listener.Addr().String()
}

// Pins an echo that the scenario cannot call, and idle sessions that are not connected.
func TestEcho(t *testing.T) {
	t.Parallel()
	res, err := bench.Run(t.Context(), bench.Options{
		Protocol: Protocol, Scenario: Echoed, URLs: []string{startEcho(t)}, Callers: 2, Turns: 2, Duration: time.Hour,
		Sessions: 100,
	})
	require.NoError(t, err)
	require.EqualValues(t, 2, res.Calls)
	require.Zero(t, res.Failed, res.Errors)
	require.Equal(t, 100, res.Sessions)
}

// Pins a run that waits for ever for a client that was closed.
func TestDisconnected(t *testing.T) {
	t.Parallel()
	c, err := Dial(t.Context(), startEcho(t), "", "")
	require.NoError(t, err)
	require.NotEmpty(t, c.id())
	require.Zero(t, c.Status().Resumed)
	require.NoError(t, c.leave(t.Context(), "room"))
	c.Close()
	require.ErrorIs(t, c.leave(t.Context(), "room"), lobby.ErrClosed)
	require.ErrorIs(t, c.awaitSeq(t.Context(), "room", 0), lobby.ErrClosed)
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for says, o := range map[string]bench.Options{
		"no scenario \"dance\"": {Scenario: "dance"},
		"-1 sessions":           {Scenario: roomsIdle, Sessions: -1},
		"20001 sessions":        {Scenario: roomsIdle, Sessions: bench.MaxSessions + 1},
		"has one caller":        {Scenario: roomsStorm, Callers: 2, Sessions: 1},
		"sessions act at once":  {Scenario: roomsStorm, Callers: 1},
		"no URL":                {Scenario: roomsPatch},
	} {
		o.Protocol = Protocol
		require.ErrorContains(t, o.Check(), says)
	}
	for _, scenario := range Protocol.Scenarios() {
		usual := Protocol.Usual(scenario)
		o := bench.Options{
			Protocol: Protocol, Scenario: scenario, URLs: []string{"http://127.0.0.1:1"}, Callers: usual.Callers,
			Rate: usual.Rate, Duration: 1, Sessions: usual.Sessions, WarmUp: 1,
		}
		require.NoError(t, o.Check(), scenario)
		require.Equal(t, scenario == roomsJoin || scenario == roomsStorm, o.WarmUp == 0,
			"a warm-up that is longer than the run")
	}
}
