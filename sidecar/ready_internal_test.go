package sidecar

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
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
	g := readyGame(t, nil)
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

// readyGame returns a registered game server. delay, unless nil, is called before each answer of the director.
func readyGame(t *testing.T, delay func(path string)) *game {
	t.Helper()
	director := must.Get(sdktest.New(sdktest.Options{MaxPlayers: 2}))(t)
	client := must.Get(sdk.New(sdk.Options{URLs: []string{"http://director.test"},
		HTTPClient: &http.Client{Transport: lateAnswers{director.Transport(), delay}}}))(t)
	t.Cleanup(client.Close)
	g := newGame(Options{Client: client, Log: slog.New(slog.DiscardHandler), Server: sdk.ServerOptions{
		InstanceID: "engine-1", Endpoint: "game.test:7777", Region: "eu", Modes: []string{"duel"}, Capacity: 4,
		HeartbeatEvery: 10 * time.Millisecond}})
	must.Get(g.becomeReady(t.Context(), &announcement{}))(t)
	return g
}

// Pins a drain whose answer comes when the game server is unhealthy already: it counted as registered, and what it
// announced then changed nothing.
func TestADrainDoesNotMakeAnUnhealthyServerReady(t *testing.T) {
	t.Parallel()
	g := readyGame(t, nil)
	former := must.Get(g.registeredServer())(t)
	t.Cleanup(func() {
		g.beginShutdown(0)
		<-g.finalStateReached
		_ = former.Close(context.Background())
	})
	g.enterState(StateUnhealthy, nil)
	for _, drain := range []bool{true, false} {
		require.NoError(t, g.setDraining(t.Context(), drain))
		require.Equal(t, StateUnhealthy, g.currentStatus().State)
	}
	must.Get(g.becomeReady(t.Context(), &announcement{}))(t)
	require.NotSame(t, former, must.Get(g.registeredServer())(t), "it registers again")
	g.beUnwanted(former)
	g.setSessions(former, []sdk.SessionRoster{{}})
	g.enterDraining(former, StateDraining)
	require.Equal(t, []any{StateReady, false, 0},
		[]any{g.currentStatus().State, g.currentStatus().Unwanted, g.currentStatus().Sessions},
		"what is said of the former registration")
}

// lateAnswers delays answers.
type lateAnswers struct {
	http.RoundTripper

	delay func(path string)
}

func (l lateAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := l.RoundTripper.RoundTrip(r)
	if l.delay != nil {
		l.delay(r.URL.Path)
	}
	return answer, err
}

// Pins an unhealthy game server that registers again while the end of its registration is under way: that was superseded
// by the new one, which ended the sidecar.
func TestAnUnhealthyServerForgetsItsRegistrationFirst(t *testing.T) {
	t.Parallel()
	var g *game
	var whileItRegisters error
	var once sync.Once
	g = readyGame(t, func(path string) {
		if path == "/fleet/register" && g != nil {
			once.Do(func() { _, whileItRegisters = g.registeredServer() })
		}
	})
	former := must.Get(g.registeredServer())(t)
	t.Cleanup(func() {
		g.beginShutdown(0)
		<-g.finalStateReached
		_ = former.Close(context.Background())
	})
	g.enterState(StateUnhealthy, nil)
	require.Equal(t, StateReady, must.Get(g.becomeReady(t.Context(), &announcement{}))(t).State)
	require.Error(t, whileItRegisters)
}
