package sidecar

import (
	"log/slog"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

// Pins a shutdown between a reading of the state and the registration of another process, which was lost: the sidecar
// never ended.
func TestAShutdownWinsOverWhatComesLate(t *testing.T) {
	t.Parallel()
	director := must.Get(sdktest.New(sdktest.Options{MaxPlayers: 2}))(t)
	client := must.Get(sdk.New(sdk.Options{URLs: []string{"http://director.test"},
		HTTPClient: &http.Client{Transport: director.Transport()}}))(t)
	t.Cleanup(client.Close)
	g := newGame(Options{Client: client, Log: slog.New(slog.DiscardHandler), Server: sdk.ServerOptions{
		InstanceID: "engine-1", Endpoint: "game.test:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 4}})
	must.Get(g.becomeReady(t.Context(), &announcement{}))(t)

	g.beginShutdown(time.Second)
	require.Error(t, g.replaceProcess(t.Context(), g.lastAnnounced().server, "another"))
	for _, late := range []State{StateStarting, StateReady, StateDraining, StateUnhealthy} {
		g.enterState(late, nil)
	}
	select {
	case <-g.finalStateReached:
		require.Equal(t, StateEnded, g.currentStatus().State)
	case <-time.After(20 * time.Second):
		t.Fatal("the sidecar does not end")
	}
}
