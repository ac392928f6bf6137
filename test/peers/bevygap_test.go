package peers

import (
	"bufio"
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

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// errLong is why what takes long to compile is left out.
var errLong = errors.New("it compiles Bevy, which takes ten minutes or more: make peers LONG=1 runs it")

// isLong reports whether peers that take long to compile run as well.
func isLong() error {
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
	lines chan string
	leave io.Closer
	seen  []string
}

func startClient(t *testing.T, environ []string, program string, args ...string) *bevyClient {
	t.Helper()
	command := exec.Command(program, args...)
	command.Env = append(os.Environ(), environ...)
	command.Stderr = t.Output()
	in := must.Get(command.StdinPipe())(t)
	out := must.Get(command.StdoutPipe())(t)
	require.NoError(t, command.Start())
	c := &bevyClient{t: t, lines: make(chan string, 1000), leave: in}
	go func() {
		defer close(c.lines)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			c.lines <- lines.Text()
		}
	}()
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	return c
}

// awaits waits until the client prints a line that begins so, and returns the rest of it.
func (c *bevyClient) awaits(beginning string) string {
	c.t.Helper()
	over := time.After(2 * time.Minute)
	for {
		select {
		case line, open := <-c.lines:
			require.True(c.t, open, "the client has ended before %q: %q", beginning, c.seen)
			c.seen = append(c.seen, line)
			if rest, found := strings.CutPrefix(line, beginning); found {
				return strings.TrimSpace(rest)
			}
		case <-over:
			require.Fail(c.t, fmt.Sprintf("waited for %q: %q", beginning, c.seen))
		}
	}
}

// natsListener is how replicas serve game servers with bevygap's plugin.
type natsListener struct {
	scheme string
	flags  []string // of the replicas
	env    string   // of the game servers, as a field of their app version
	ports  string   // for the game servers
}

func securely(t *testing.T) natsListener {
	t.Helper()
	c := newCertificates(t)
	return natsListener{"tls://", []string{"--tls-cert", c.cert, "--tls-key", c.key},
		fmt.Sprintf("    env: {NATS_CA_CONTENTS: %q}\n", c.authority), "31700-31749"}
}

// The plugin demands TLS unless it is told otherwise.
func TestBevygapPlays(t *testing.T) {
	t.Parallel()
	programs, err := buildBevygap()
	require.NoError(t, err)
	for name, listener := range map[string]natsListener{"TLS": securely(t),
		"plain text": {scheme: "nats://", ports: "31750-31799"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			playBevygap(t, programs, listener)
		})
	}
}

// Clients with bevygap's own plugin reach a game server with bevygap's own plugin, which a worker has started as a
// process, and which asks one of two replicas as if it were NATS. That replica is killed while they play.
func playBevygap(t *testing.T, programs string, listener natsListener) {
	t.Helper()
	gate, natsA, natsB, addr := rigtest.NewBalancer(t), rigtest.FreeAddr(t), rigtest.FreeAddr(t), rigtest.FreeAddr(t)
	gate.AddAddr(natsA)
	r := rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), "DIRECTOR_BEVYGAP=guests",
		"DIRECTOR_BEVYGAP_WAIT=2m", "DIRECTOR_PROVIDERS=process",
		"DIRECTOR_PUBLIC_URL=http://"+addr, "DIRECTOR_BEVYGAP_NATS_URL="+listener.scheme+gate.ListenAddr(),
		"DIRECTOR_PROCESS_COMMANDS=ships="+filepath.Join(programs, "server"),
		"DIRECTOR_PROCESS_DIR="+t.TempDir(), "DIRECTOR_PROCESS_PORTS="+listener.ports,
		"DIRECTOR_PROCESS_VARIABLES=NATS_CA_CONTENTS")
	file := filepath.Join(t.TempDir(), "pool.yaml")
	require.NoError(t, os.WriteFile(file,
		[]byte(strings.Replace(bevygapPool, "    compat: bevygap\n", "    compat: bevygap\n"+listener.env, 1)), 0o600))
	r.RunCommand("pools", "apply", "-f", file, "--reason", "test")
	r.AwaitReady(r.StartReplica(addr, "--work"))
	a := startNATS(r, natsA, listener)
	startNATS(r, natsB, listener)

	matchmaker := "ws://" + addr + "/matchmaker/ws"
	connected := func() []string {
		return strings.Fields(rigtest.QueryOne[string](r,
			"SELECT coalesce(string_agg(connection, ' '), '') FROM seats WHERE state = 'connected'"))
	}
	ann := startClient(t, nil, filepath.Join(programs, "client"), matchmaker, "ships", "1")
	annsID := ann.awaits("connected ")
	require.Eventually(t, func() bool { return slices.Equal(connected(), []string{annsID}) }, time.Minute,
		50*time.Millisecond)
	incarnation := rigtest.QueryOne[string](r, "SELECT incarnation::text FROM instances")

	gate.RemoveAddr(natsA)
	gate.AddAddr(natsB)
	a.Process.Kill()
	bob := startClient(t, nil, filepath.Join(programs, "client"), matchmaker, "ships", "1")
	bobsID := bob.awaits("connected ")
	require.Eventually(t, func() bool { return slices.Contains(connected(), bobsID) }, time.Minute, 50*time.Millisecond)
	require.ElementsMatch(t, []string{annsID, bobsID}, connected(), "she has kept her seat")
	require.Equal(t, incarnation, rigtest.QueryOne[string](r, "SELECT incarnation::text FROM instances"),
		"one process, at another replica")

	require.NoError(t, ann.leave.Close())
	require.Eventually(t, func() bool { return slices.Equal(connected(), []string{bobsID}) }, time.Minute,
		50*time.Millisecond)
	require.Equal(t, 1, rigtest.QueryOne[int](r, "SELECT count(*) FROM deployments WHERE phase = 'ready'"),
		"the plugin has not panicked")
	r.RequireInvariants()
	endServers(r)
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
