package peertest

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/rigtest"
)

// sidecarStatus is the game server as its sidecar knows it.
type sidecarStatus struct {
	State      string
	InstanceID string `json:"instance_id"`
	Players    int
	Sessions   int
}

// sidecarPlayer is an admitted player.
type sidecarPlayer struct {
	ID        string
	Sub       string
	SessionID string `json:"session_id"`
}

// sidecarPlayers and sidecarSessions are the answers of the sidecar's lists.
type sidecarPlayers struct{ Players []sidecarPlayer }

type sidecarSessions struct {
	Sessions []struct {
		SessionID string `json:"session_id"`
	}
}

// sidecarEvent is an event that the sidecar sends its game server.
type sidecarEvent struct {
	Name string
	Data struct{ State, ID, Reason string }
}

// offer is what the game server says about itself.
var offer = object{"endpoint": "127.0.0.1:7777", "region": "eu", "modes": []string{"duel"}, "capacity": 8,
	"boot_id": "b1"}

// startSidecar starts a sidecar at an address, and waits until it serves. The game server counts as frozen when it
// reports nothing for healthWithin; 0s: never.
func (r *Rig) startSidecar(addr, healthWithin string, directors ...string) *rigtest.Process {
	r.T.Helper()
	// Later processes get the variable as well, and do not read it.
	r.Installation.NextEnv = append(r.Installation.NextEnv, "FLEET_TOKEN="+rigtest.FleetToken)
	process := r.Installation.StartProcess("sidecar", "--sidecar-addr", addr, "--sidecar-instance-id", "a",
		"--sidecar-heartbeat", "100ms", "--sidecar-health-within", healthWithin,
		"--sidecar-director", strings.Join(directors, ","))
	ctx, cancel := context.WithTimeout(r.T.Context(), peerTimeout)
	defer cancel()
	require.NoError(r.T, process.Process.AwaitReady(ctx, "http://"+addr+"/status"))
	return process
}

// connectServer makes the peer a client of the sidecar at an address, which receives its events from now on.
func (r *Rig) connectServer(addr string) {
	r.T.Helper()
	ask[any](r, "server", object{"url": "http://" + addr})
}

// serverCall makes a call of the sidecar.
func serverCall[T any](r *Rig, call string, args object) T {
	r.T.Helper()
	return ask[T](r, "serverCall", object{"call": call, "args": args})
}

// serverRefusalOf makes a call of the sidecar that fails, and returns the code.
func (r *Rig) serverRefusalOf(call string, args object) string {
	r.T.Helper()
	_, failed := try[any](r, "serverCall", object{"call": call, "args": args})
	require.NotNil(r.T, failed, call)
	require.Equal(r.T, "DirectorError", failed.Name)
	return failed.Code
}

// awaitServerEvent waits for an event, and returns the first of that kind.
func (r *Rig) awaitServerEvent(holds func(sidecarEvent) bool) sidecarEvent {
	r.T.Helper()
	all := until(r, "serverEvents", object{}, func(all []sidecarEvent) bool { return slices.ContainsFunc(all, holds) })
	return all[slices.IndexFunc(all, holds)]
}

// entersState selects the event with which the sidecar says that its state has changed.
func entersState(state string) func(sidecarEvent) bool {
	return func(e sidecarEvent) bool { return e.Name == "status" && e.Data.State == state }
}

// takeSeat takes a seat for a player, and returns it.
func (r *Rig) takeSeat(player string, at ...*rigtest.Process) match {
	r.T.Helper()
	r.player(player, at...)
	return ask[match](r, "seat", object{"player": player, "request": duel})
}

// A game server registers, admits players, each once, and drains, while one of two replicas is killed.
func playsOverSidecar(r *Rig) {
	a, b := r.serve(), r.serve()
	addr := rigtest.FreeAddr(r.T)
	process := r.startSidecar(addr, "0s", a.URL, b.URL)
	r.connectServer(addr)
	require.Equal(r.T, "not_ready", r.serverRefusalOf("admit", object{"token": "x"}))
	require.Equal(r.T, sidecarStatus{State: "ready", InstanceID: "a"},
		serverCall[sidecarStatus](r, "ready", object{"about": offer}))
	r.awaitServerEvent(entersState("ready"))

	alice := r.takeSeat("alice", a, b)
	first := serverCall[sidecarPlayer](r, "admit", object{"token": alice.Token})
	require.Equal(r.T, []string{"alice", alice.SessionID}, []string{first.Sub, first.SessionID})
	require.Equal(r.T, "replay", r.serverRefusalOf("admit", object{"token": alice.Token}))
	require.Equal(r.T, "bad_token", r.serverRefusalOf("admit", object{"token": "x.y.z"}))
	again := ask[match](r, "resolve", object{"player": "alice", "handle": alice.Handle})
	second := serverCall[sidecarPlayer](r, "admit", object{"token": again.Token})
	kick := r.awaitServerEvent(func(e sidecarEvent) bool { return e.Name == "kick" })
	require.Equal(r.T, []string{first.ID, "replaced"}, []string{kick.Data.ID, kick.Data.Reason}, "she has reconnected")

	a.Process.Kill()
	bob := serverCall[sidecarPlayer](r, "admit", object{"token": r.takeSeat("bob", a, b).Token})
	require.Len(r.T, serverCall[sidecarPlayers](r, "players", nil).Players, 2)
	require.Equal(r.T, "draining", serverCall[sidecarStatus](r, "drain", nil).State)
	r.player("cy", b)
	_, failed := try[match](r, "matchmake", object{"player": "cy", "request": duel})
	require.Equal(r.T, "no_capacity", failed.Code)
	require.Equal(r.T, "ready", serverCall[sidecarStatus](r, "undrain", nil).State)
	require.NotEmpty(r.T, ask[match](r, "matchmake", object{"player": "cy", "request": duel}).Handle)

	serverCall[any](r, "health", nil)
	serverCall[any](r, "load", object{"load": 0.5})
	require.NotEmpty(r.T, r.serverRefusalOf("load", object{"load": -1}))
	serverCall[any](r, "leave", object{"id": bob.ID})
	require.Equal(r.T, "unknown_player", r.serverRefusalOf("leave", object{"id": bob.ID}))
	require.Equal(r.T, []sidecarPlayer{second}, serverCall[sidecarPlayers](r, "players", nil).Players)
	isOver := func(list sidecarSessions) bool { return len(list.Sessions) == 0 }
	serverCall[any](r, "end", object{"session": alice.SessionID})
	until(r, "serverCall", object{"call": "sessions", "args": nil}, isOver)
	require.NotEmpty(r.T, serverCall[sidecarStatus](r, "shutdown", object{"grace": "0s"}).State)
	require.Equal(r.T, "ended", ask[string](r, "serverOver", object{}))
	<-process.Process.Done()
}

// A game server calls before its sidecar and its director run, and again after it was frozen.
func thawsGameServer(r *Rig) {
	addr, director := rigtest.FreeAddr(r.T), rigtest.FreeAddr(r.T)
	r.connectServer(addr)
	r.beginStep("ready", "serverCall", object{"call": "ready", "args": object{"about": offer}})
	r.startSidecar(addr, "2s", "http://"+director)
	r.Installation.AwaitReady(r.Installation.StartReplica(director, "--work"))
	require.Equal(r.T, "ready", ask[sidecarStatus](r, "end", object{"id": "ready"}).State)
	r.awaitServerEvent(entersState("unhealthy"))
	require.Equal(r.T, "ready", serverCall[sidecarStatus](r, "ready", object{"about": offer}).State)
}
