package peertest

import (
	"context"
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

// sidecar starts a sidecar of a game server that may say nothing for a time, and waits until it serves.
func (r *Rig) sidecar(addr, healthWithin string, directors ...string) *rigtest.Process {
	r.T.Helper()
	// For later processes as well, which do not read it.
	r.Installation.NextEnv = append(r.Installation.NextEnv, "FLEET_TOKEN="+rigtest.FleetToken)
	process := r.Installation.StartProcess("sidecar", "--sidecar-addr", addr, "--sidecar-instance-id", "a", "--sidecar-heartbeat",
		"100ms",
		"--sidecar-health-within", healthWithin, "--sidecar-director", strings.Join(directors, ","))
	ctx, cancel := context.WithTimeout(r.T.Context(), peerTimeout)
	defer cancel()
	require.NoError(r.T, process.Process.AwaitReady(ctx, "http://"+addr+"/status"))
	return process
}

// server makes the game server's client of a sidecar, which listens to its events from now on.
func (r *Rig) server(addr string) {
	r.T.Helper()
	ask[any](r, "server", object{"url": "http://" + addr})
}

// serverCall makes a call of the sidecar.
func serverCall[T any](r *Rig, call string, args object) T {
	r.T.Helper()
	return ask[T](r, "serverCall", object{"call": call, "args": args})
}

// serverRefused makes a call of the sidecar that fails, and returns the code.
func (r *Rig) serverRefused(call string, args object) string {
	r.T.Helper()
	_, failed := try[any](r, "serverCall", object{"call": call, "args": args})
	require.NotNil(r.T, failed, call)
	require.Equal(r.T, "DirectorError", failed.Name)
	return failed.Code
}

// serverHears waits for an event.
func (r *Rig) serverHears(holds func(sidecarEvent) bool) sidecarEvent {
	r.T.Helper()
	var found sidecarEvent
	until(r, "serverEvents", object{}, func(all []sidecarEvent) bool {
		for _, found = range all {
			if holds(found) {
				return true
			}
		}
		return false
	})
	return found
}

// enters selects the event with which the sidecar says that its state has changed.
func enters(state string) func(sidecarEvent) bool {
	return func(e sidecarEvent) bool { return e.Name == "status" && e.Data.State == state }
}

// seat takes a seat for a player, and returns it.
func (r *Rig) seat(player string, at ...*rigtest.Process) match {
	r.T.Helper()
	r.player(player, at...)
	return ask[match](r, "seat", object{"player": player, "request": duel})
}

// A game server registers, admits players, each once, and drains, while one of two replicas is killed.
func playsOverSidecar(r *Rig) {
	a, b := r.serve(), r.serve()
	addr := rigtest.FreeAddr(r.T)
	process := r.sidecar(addr, "0s", a.URL, b.URL)
	r.server(addr)
	require.Equal(r.T, "not_ready", r.serverRefused("admit", object{"token": "x"}))
	require.Equal(r.T, sidecarStatus{State: "ready", InstanceID: "a"},
		serverCall[sidecarStatus](r, "ready", object{"about": offer}))
	r.serverHears(enters("ready"))

	alice := r.seat("alice", a, b)
	first := serverCall[sidecarPlayer](r, "admit", object{"token": alice.Token})
	require.Equal(r.T, []string{"alice", alice.SessionID}, []string{first.Sub, first.SessionID})
	require.Equal(r.T, "replay", r.serverRefused("admit", object{"token": alice.Token}))
	require.Equal(r.T, "bad_token", r.serverRefused("admit", object{"token": "x.y.z"}))
	again := ask[match](r, "resolve", object{"player": "alice", "handle": alice.Handle})
	second := serverCall[sidecarPlayer](r, "admit", object{"token": again.Token})
	kick := r.serverHears(func(e sidecarEvent) bool { return e.Name == "kick" })
	require.Equal(r.T, []string{first.ID, "replaced"}, []string{kick.Data.ID, kick.Data.Reason}, "she has reconnected")

	a.Process.Kill()
	bob := serverCall[sidecarPlayer](r, "admit", object{"token": r.seat("bob", a, b).Token})
	require.Len(r.T, serverCall[sidecarPlayers](r, "players", nil).Players, 2)
	require.Equal(r.T, "draining", serverCall[sidecarStatus](r, "drain", nil).State)
	r.player("cy", b)
	_, failed := try[match](r, "matchmake", object{"player": "cy", "request": duel})
	require.Equal(r.T, "no_capacity", failed.Code)
	require.Equal(r.T, "ready", serverCall[sidecarStatus](r, "undrain", nil).State)
	require.NotEmpty(r.T, ask[match](r, "matchmake", object{"player": "cy", "request": duel}).Handle)

	serverCall[any](r, "health", nil)
	serverCall[any](r, "load", object{"load": 0.5})
	require.NotEmpty(r.T, r.serverRefused("load", object{"load": -1}))
	serverCall[any](r, "leave", object{"id": bob.ID})
	require.Equal(r.T, "unknown_player", r.serverRefused("leave", object{"id": bob.ID}))
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
	r.server(addr)
	r.begin("ready", "serverCall", object{"call": "ready", "args": object{"about": offer}})
	r.sidecar(addr, "2s", "http://"+director)
	r.Installation.AwaitReady(r.Installation.StartReplica(director, "--work"))
	require.Equal(r.T, "ready", ask[sidecarStatus](r, "end", object{"id": "ready"}).State)
	r.serverHears(enters("unhealthy"))
	require.Equal(r.T, "ready", serverCall[sidecarStatus](r, "ready", object{"about": offer}).State)
}
