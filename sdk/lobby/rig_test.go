package lobby_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk/lobby"
	"github.com/lattice-director/director/test/rigtest"
)

func TestMain(m *testing.M) { dbtest.VerifyNoLeaks(m, clitest.RemoveDirector) }

// newRig returns an installation without processes.
func newRig(t *testing.T, settings ...string) *rigtest.Rig {
	t.Helper()
	return rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), append(rigtest.LobbySettings(), settings...)...)
}

// guest is a connected player with the events that it has heard.
type guest struct {
	*lobby.Client

	t    *testing.T
	name string

	mu     sync.Mutex
	events []lobby.Event
}

// connect connects a player, first to the first of the replicas.
func connect(t *testing.T, name string, at ...*rigtest.LobbyReplica) *guest {
	t.Helper()
	return connectWith(t, name, lobby.Options{}, at...)
}

func connectWith(t *testing.T, name string, o lobby.Options, at ...*rigtest.LobbyReplica) *guest {
	t.Helper()
	for _, replica := range at {
		o.URLs = append(o.URLs, replica.Lobby)
	}
	g := &guest{t: t, name: name}
	o.Token, o.OnEvent = lobby.StaticToken(rigtest.LobbyToken(name)), g.note
	g.Client = must.Get(lobby.Connect(within(t), o))(t)
	t.Cleanup(g.Close)
	return g
}

// within bounds what a test waits for.
func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func (g *guest) note(e lobby.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.events = append(g.events, e)
}

// heard returns the events of a type, in their order.
func heard[E lobby.Event](g *guest) (found []E) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, event := range g.events {
		if e, is := event.(E); is {
			found = append(found, e)
		}
	}
	return found
}

// hears waits until a player has heard n events of a type, and returns the last.
func hears[E lobby.Event](g *guest, n int) E {
	g.t.Helper()
	require.NoError(g.t, g.Await(within(g.t), func() bool { return len(heard[E](g)) >= n }), "%s waits for %T", g.name,
		*new(E))
	all := heard[E](g)
	return all[len(all)-1]
}

// join joins a room.
func (g *guest) join(roomType, id string, o lobby.JoinOptions) *lobby.Room {
	g.t.Helper()
	return must.Get(g.Join(within(g.t), roomType, id, o))(g.t)
}

// eventually waits until a state of a room holds.
func (g *guest) eventually(room string, what string, holds func(lobby.State) bool) {
	g.t.Helper()
	err := g.Await(within(g.t), func() bool { return holds(g.Room(room).State()) })
	require.NoError(g.t, err, "%s waits for %s: %v", g.name, what, g.Room(room).State())
}
