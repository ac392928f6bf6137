package peers

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/certtest"
	"github.com/lattice-director/director/internal/testkit/logtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// errLong is why what takes long to compile is left out.
var errLong = errors.New("it compiles Bevy, which takes ten minutes or more: make peers LONG=1 runs it")

// checkLong returns errLong unless peers that take long to compile are to run as well.
func checkLong() error {
	if os.Getenv("DIRECTOR_TEST_PEERS") != "long" {
		return errLong
	}
	return nil
}

// buildBevygap compiles the game of bevygap, and returns the directory of its programs.
var buildBevygap = sync.OnceValues(func() (string, error) { return cargo("bevygap/Cargo.toml", "build") })

const bevygapPool = `
apps:
  - app: ships
    version: "1"
    provider: process
    launch: ships
    ports: [{name: game, protocol: udp}]
    modes: [duel]
    capacity: 8
    max_players: 8
    netcode: {dialect: lightyear-le, protocol_id: 80085}
    compat: bevygap
pools:
  - {region: eu, app: ships, version: "1", max: 1}
`

// bevyClient is a running client of a player.
type bevyClient struct {
	t     *testing.T
	out   logtest.Buffer
	leave io.Closer
}

func startClient(t *testing.T, environ []string, program string, args ...string) *bevyClient {
	t.Helper()
	c := &bevyClient{t: t}
	command := exec.Command(program, args...)
	command.Env, command.Stdout, command.Stderr = append(os.Environ(), environ...), &c.out, t.Output()
	c.leave = must.Get(command.StdinPipe())(t)
	require.NoError(t, command.Start())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_ = command.Wait()
		c.out.End()
	}()
	t.Cleanup(func() { _ = command.Process.Kill(); <-ended })
	return c
}

// awaitLine waits until the client prints a line with such words, and returns the rest of it.
func (c *bevyClient) awaitLine(words string) string {
	c.t.Helper()
	_, rest, _ := strings.Cut(c.out.AwaitLine(c.t, words), words)
	return strings.TrimSpace(rest)
}

// natsListener is how replicas serve game servers with bevygap's plugin.
type natsListener struct {
	scheme string
	flags  []string // of the replicas
	env    string   // of the game servers, as a field of their app version
	ports  string   // for the game servers
}

func tlsListener(t *testing.T) natsListener {
	t.Helper()
	authority := certtest.New(t) // Rust's TLS takes no certificate that signs itself
	authority.Issue("server")
	ca := must.Get(os.ReadFile(authority.File("ca.pem")))(t)
	return natsListener{"tls://", []string{"--tls-cert", authority.File("server.pem"), "--tls-key", authority.File("server.key")},
		fmt.Sprintf("    env: {NATS_CA_CONTENTS: %q}\n", ca), "31700-31749"}
}

// Clients with bevygap's own plugin reach a game server with bevygap's own plugin, which a worker has started as a
// process, and which asks one of two replicas as if it were NATS. That replica is killed while they play.
// The plugin demands TLS unless it is told otherwise.
func TestBevygapPlays(t *testing.T) {
	t.Parallel()
	programs, err := buildBevygap()
	require.NoError(t, err)
	for name, listener := range map[string]natsListener{"TLS": tlsListener(t),
		"plain text": {scheme: "nats://", ports: "31750-31799"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gate, natsA, natsB := rigtest.NewBalancer(t), rigtest.FreeAddr(t), rigtest.FreeAddr(t)
			gate.AddAddr(natsA)
			r := newPoolRig(t, strings.Replace(bevygapPool, "    compat: bevygap\n", "    compat: bevygap\n"+listener.env, 1),
				filepath.Join(programs, "server"), listener.ports, "DIRECTOR_BEVYGAP=guests", "DIRECTOR_BEVYGAP_WAIT=2m",
				"DIRECTOR_BEVYGAP_NATS_URL="+listener.scheme+gate.ListenAddr(), "DIRECTOR_PROCESS_VARIABLES=NATS_CA_CONTENTS")
			a := startNATS(r.Rig, natsA, listener)
			startNATS(r.Rig, natsB, listener)

			matchmaker := "ws://" + r.addr + "/matchmaker/ws"
			ann := startClient(t, nil, filepath.Join(programs, "client"), matchmaker, "ships", "1")
			annsID := ann.awaitLine("connected ")
			r.awaitOnlySeat(annsID)
			incarnation := rigtest.QueryOne[string](r.Rig, "SELECT incarnation::text FROM instances")

			gate.RemoveAddr(natsA)
			gate.AddAddr(natsB)
			a.Process.Kill()
			bob := startClient(t, nil, filepath.Join(programs, "client"), matchmaker, "ships", "1")
			bobsID := bob.awaitLine("connected ")
			r.awaitSeat(bobsID)
			require.ElementsMatch(t, []string{annsID, bobsID}, rigtest.QueryOne[[]string](r.Rig,
				"SELECT array_agg(connection) FROM seats WHERE state = 'connected'"), "she has kept her seat")
			require.Equal(t, incarnation, rigtest.QueryOne[string](r.Rig, "SELECT incarnation::text FROM instances"),
				"one process, at another replica")

			require.NoError(t, ann.leave.Close())
			r.awaitOnlySeat(bobsID)
			require.Equal(t, 1, rigtest.QueryOne[int](r.Rig, "SELECT count(*) FROM deployments WHERE phase = 'ready'"),
				"the plugin has not panicked")
			r.RequireInvariants()
			endServers(r.Rig)
		})
	}
}

// startNATS starts a replica that serves game servers with the plugin at an address.
func startNATS(r *rigtest.Rig, addr string, listener natsListener) *rigtest.Process {
	r.T.Helper()
	p := r.StartReplica(rigtest.FreeAddr(r.T), slices.Concat(listener.flags, []string{"--bevygap-nats-addr", addr})...)
	require.Eventually(r.T, func() bool {
		conn, err := net.Dial("tcp", addr)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	}, time.Minute, 50*time.Millisecond)
	return p
}
