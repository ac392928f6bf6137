package rigtest

import (
	"testing"
	"time"

	"github.com/lattice-director/director/server/realtime/realtimetest"
	"github.com/lattice-director/director/token"
)

const (
	// LobbyMaster is the secret of the lobby's tokens.
	LobbyMaster  = "a-master-secret-of-tests"
	lobbyProject = "p1"
	// CounterRoom is the type of rooms that count.
	CounterRoom = "counter_plugin_room"
)

// LobbySettings returns settings with which players with a token of [LobbyToken] can connect.
func LobbySettings() []string {
	// The tokens of LobbyToken name no key, and CounterRoom is one of the types of Nexis' scripts.
	return []string{"DIRECTOR_REALTIME_MASTER_SECRET=" + LobbyMaster, "DIRECTOR_REALTIME_REQUIRE_KEY=false",
		"DIRECTOR_REALTIME_CONFORMANCE=true"}
}

// LobbyToken returns a token of a player of the project.
func LobbyToken(sub string) string {
	return token.MintProject(token.ProjectSecret(LobbyMaster, lobbyProject), token.ProjectClaims{
		ProjectID: lobbyProject, Subject: sub, IssuedAt: time.Now(), Expires: time.Now().Add(time.Hour),
	})
}

// LobbyReplica is a replica with its listener for clients of the lobby.
type LobbyReplica struct {
	Process *Process
	Lobby   string // URL of the listener
}

// ServeLobby starts a replica that serves the lobby, and waits until it is ready.
func (r *Rig) ServeLobby(args ...string) *LobbyReplica {
	r.T.Helper()
	addr := FreeAddr(r.T)
	return &LobbyReplica{r.ServeReplica(append([]string{"--realtime-addr", addr}, args...)...), "ws://" + addr}
}

// Connect connects a strict client, which fails the test at its end if it was sent anything wrong.
func (r *LobbyReplica) Connect(t *testing.T, sub string) *realtimetest.Client {
	t.Helper()
	return realtimetest.Dial(t, realtimetest.Options{URL: r.Lobby, Token: LobbyToken(sub), Late: true})
}
