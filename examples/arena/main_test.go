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

// process is a game server of its own.
type process struct{ cmd *exec.Cmd }

func startServer(t *testing.T, director, id string) *process {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "server", "--instance-id", id, "--region", "eu", "--modes", "ffa",
		"--capacity", "16", "--heartbeat-every", "100ms", "--grace", "3s")
	cmd.Env = append(os.Environ(), "ARENA_TEST_RUN=1", "DIRECTOR_URL="+director+",http://127.0.0.1:9", "FLEET_TOKEN=fleet-secret")
	cmd.Stderr = t.Output()
	require.NoError(t, cmd.Start())
	return &process{cmd: cmd}
}

func (p *process) signal(t *testing.T, s syscall.Signal) error {
	require.NoError(t, p.cmd.Process.Signal(s))
	return p.cmd.Wait()
}

// match is a fake director, two server processes and eight bots.
type match struct {
	t        *testing.T
	director *sdktest.Director
	servers  map[string]*process // by instance id
	swarm    *bots.Swarm
	stop     func() // the bots
}

func setup(t *testing.T) *match {
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
	m := &match{t: t, director: director, servers: map[string]*process{}}
	for _, id := range []string{"arena-1", "arena-2"} {
		m.servers[id] = startServer(t, web.URL, id)
	}
	m.eventually("both servers register", func() bool { return len(director.Instances()) == 2 })
	client := must.Get(sdk.New(sdk.Options{URLs: []string{web.URL}}))(t)
	t.Cleanup(client.Close)
	m.swarm = must.Get(bots.New(bots.Config{
		Director: client, AccessToken: issuer.AccessToken, Count: 8, Region: "eu", Modes: []string{"ffa"}, MaxParty: 3, MaxPlayers: 4,
		PlayFor: bots.Span{Min: 300 * time.Millisecond, Max: 900 * time.Millisecond}, Seed: 3,
		Rest: bots.Span{Min: 10 * time.Millisecond, Max: 50 * time.Millisecond},
	}))(t)
	m.stop = background.Loop(t, m.swarm.Run)
	return m
}

func (m *match) eventually(what string, ok func() bool) {
	require.Eventually(m.t, ok, 20*time.Second, 5*time.Millisecond, what)
}

func (m *match) every(what string, ok func(bots.BotStats) bool) {
	m.eventually(what, func() bool {
		for _, b := range m.swarm.Stats().Bots {
			if !ok(b) {
				return false
			}
		}
		return true
	})
}

// busiest returns the server with the most players, and these players.
func (m *match) busiest() (id string, players map[string]bool) {
	playing := m.swarm.Stats().Playing()
	best := ""
	for name, i := range m.director.Instances() {
		if best == "" || playing[i.Endpoint] > playing[best] {
			id, best = name, i.Endpoint
		}
	}
	players = map[string]bool{}
	for _, b := range m.swarm.Stats().Bots {
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
	m := setup(t)
	m.every("everybody plays two matches", func(b bots.BotStats) bool { return b.Matches >= 2 && b.States > 0 })
	m.eventually("somebody picks up a coin", func() bool { return m.swarm.Stats().Total().Coins > 0 })

	dead, victims := m.busiest()
	endpoint := m.director.Instances()[dead].Endpoint
	require.NotEmpty(t, victims)
	killed := time.Now()
	require.Error(t, m.servers[dead].signal(t, syscall.SIGKILL))
	m.director.Expire(dead)
	m.every("its players play on the other server", func(b bots.BotStats) bool {
		last := len(b.Visits) - 1
		return !victims[b.Name] || b.Visits[last].StartedAt.After(killed) && b.Visits[last].Endpoint != endpoint
	})

	m.stop()
	m.eventually("the director hears that all have left", func() bool { return m.connected() == 0 })
	for id, server := range m.servers {
		if id != dead {
			require.NoError(t, server.signal(t, syscall.SIGTERM), "exits with status 0")
		}
	}
	require.Empty(t, m.director.Instances())
	total := m.swarm.Stats().Total()
	t.Logf("%+v", total)
	for _, never := range []string{"refused", "unauthorized", "invalid", "other", "replaced"} {
		require.Zero(t, total.Errors[never], never)
	}
}

func (m *match) connected() (n int) {
	for _, s := range m.director.Sessions() {
		for _, connected := range s.Seats {
			if connected {
				n++
			}
		}
	}
	return n
}

// SIGTERM with players connected: they finish their matches, no new players come, and no player is disconnected.
func TestDrainCutsNobodyOff(t *testing.T) {
	t.Parallel()
	m := setup(t)
	m.every("everybody plays", func(b bots.BotStats) bool { return b.Matches >= 1 })
	id, _ := m.busiest()
	require.NoError(t, m.servers[id].signal(t, syscall.SIGTERM))
	require.NotContains(t, m.director.Instances(), id)
	m.stop()
	total := m.swarm.Stats().Total()
	require.Zero(t, total.Errors["cut_off"], "%v", total.Errors) // connections that are not admitted yet may be refused
	for other, server := range m.servers {
		if other != id {
			require.NoError(t, server.signal(t, syscall.SIGTERM))
		}
	}
}
