package main

import (
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/internal/dev/devlogin"
	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
	"github.com/lattice-director/director/token"
)

// TestMain lets the test binary be the arena itself, for tests that need real processes to kill.
func TestMain(m *testing.M) {
	if os.Getenv("ARENA_TEST_RUN") != "" {
		main()
		return
	}
	goleak.VerifyTestMain(m)
}

// process is a game server in a process of its own.
type process struct{ cmd *exec.Cmd }

func startServer(t *testing.T, director, id string) *process {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "server", "--instance-id", id, "--region", "eu", "--modes", "ffa",
		"--capacity", "16", "--heartbeat-every", "100ms", "--grace", "3s")
	cmd.Env = append(os.Environ(), "ARENA_TEST_RUN=1", "FLEET_TOKEN=fleet-secret",
		"DIRECTOR_URL="+director+",http://127.0.0.1:9") // nothing listens at the second address, as at a dead replica's
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	return &process{cmd: cmd}
}

// end sends a signal and waits for the end of the process.
func (p *process) end(t *testing.T, s syscall.Signal) error {
	require.NoError(t, p.cmd.Process.Signal(s))
	return p.cmd.Wait()
}

// arena is a fake director, two server processes and eight bots.
type arena struct {
	t        *testing.T
	director *sdktest.Director
	servers  map[string]*process // by instance id
	swarm    *bots.Swarm
	stopBots func()
}

func setup(t *testing.T) *arena {
	login := must.Get(devlogin.New())(t)
	issuer := must.Get(bots.LoadIssuer(string(login.JWK())))(t)
	keys := must.Get(token.NewKeySource(login.JWKS(), token.SourceOptions{}))(t)
	verifier := must.Get(token.NewAccessVerifier(token.AccessConfig{Keys: keys}))(t)
	director := must.Get(sdktest.New(sdktest.Options{FleetToken: "fleet-secret", Access: func(raw string) (string, error) {
		claims, err := verifier.Verify(context.Background(), raw)
		return claims.Subject, err
	}}))(t)
	web := httptest.NewServer(director)
	t.Cleanup(web.Close)
	a := &arena{t: t, director: director, servers: map[string]*process{}}
	for _, id := range []string{"arena-1", "arena-2"} {
		a.servers[id] = startServer(t, web.URL, id)
	}
	a.eventually("both servers register", func() bool { return len(director.Instances()) == 2 })
	client := must.Get(sdk.New(sdk.Options{URLs: []string{web.URL}}))(t)
	t.Cleanup(client.Close)
	a.swarm = must.Get(bots.New(bots.Config{
		Director: client, AccessToken: issuer.AccessToken, Count: 8, Region: "eu", Modes: []string{"ffa"}, MaxParty: 3, MaxPlayers: 4,
		PlayFor: bots.Span{Min: 300 * time.Millisecond, Max: 900 * time.Millisecond}, Seed: 3,
		Rest: bots.Span{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
	}))(t)
	a.stopBots = background.Loop(t, a.swarm.Run)
	return a
}

func (a *arena) eventually(what string, ok func() bool) {
	require.Eventually(a.t, ok, 20*time.Second, 5*time.Millisecond, what)
}

func (a *arena) everyBot(what string, ok func(bots.BotStats) bool) {
	a.eventually(what, func() bool {
		for _, b := range a.swarm.Stats().Bots {
			if !ok(b) {
				return false
			}
		}
		return true
	})
}

// busiest returns the server with the most players, and these players.
func (a *arena) busiest() (id string, players map[string]bool) {
	playing := a.swarm.Stats().Playing()
	best := ""
	for name, i := range a.director.Instances() {
		if best == "" || playing[i.Endpoint] > playing[best] {
			id, best = name, i.Endpoint
		}
	}
	players = map[string]bool{}
	for _, b := range a.swarm.Stats().Bots {
		if b.Playing && b.Visits[len(b.Visits)-1].Endpoint == best {
			players[b.Name] = true
		}
	}
	return id, players
}

// With real processes: all bots play, one server is killed, its players are seated on the other, all leave, and the
// other server stops cleanly.
func TestArena(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.everyBot("everybody plays two matches", func(b bots.BotStats) bool { return b.Matches >= 2 && b.States > 0 })
	a.eventually("somebody picks up a coin", func() bool { return a.swarm.Stats().Total().Coins > 0 })

	dead, victims := a.busiest()
	endpoint := a.director.Instances()[dead].Endpoint
	require.NotEmpty(t, victims)
	killed := time.Now()
	require.Error(t, a.servers[dead].end(t, syscall.SIGKILL))
	a.director.Expire(dead)
	a.everyBot("its players play on the other server", func(b bots.BotStats) bool {
		last := len(b.Visits) - 1
		return !victims[b.Name] || b.Visits[last].StartedAt.After(killed) && b.Visits[last].Endpoint != endpoint
	})

	a.stopBots()
	a.eventually("the director hears that all have left", func() bool { return a.countConnected() == 0 })
	for id, server := range a.servers {
		if id != dead {
			require.NoError(t, server.end(t, syscall.SIGTERM), "exits with status 0")
		}
	}
	require.Empty(t, a.director.Instances())
	total := a.swarm.Stats().Total()
	t.Logf("%+v", total)
	for _, never := range []string{"refused", "unauthorized", "invalid", "other", "replaced"} {
		require.Zero(t, total.Errors[never], never)
	}
}

func (a *arena) countConnected() (n int) {
	for _, s := range a.director.Sessions() {
		for _, isConnected := range s.Seats {
			if isConnected {
				n++
			}
		}
	}
	return n
}

// SIGTERM with players connected: they finish their matches, no new players come, and no player is disconnected.
func TestDrainCutsNobodyOff(t *testing.T) {
	t.Parallel()
	a := setup(t)
	a.everyBot("everybody plays", func(b bots.BotStats) bool { return b.Matches >= 1 })
	id, _ := a.busiest()
	require.NoError(t, a.servers[id].end(t, syscall.SIGTERM))
	require.NotContains(t, a.director.Instances(), id)
	a.stopBots()
	total := a.swarm.Stats().Total()
	require.Zero(t, total.Errors["cut_off"], "%v", total.Errors) // connections that are not admitted yet may be refused
	for other, server := range a.servers {
		if other != id {
			require.NoError(t, server.end(t, syscall.SIGTERM))
		}
	}
}
