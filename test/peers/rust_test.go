package peers

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/peertest"
	"github.com/lattice-director/director/test/rigtest"
)

const rust = "../../sdk/rust/Cargo.toml"

// cargo runs a command of Cargo on a package, and returns the directory of what it builds. The directory stays, because
// dependencies take minutes to compile.
func cargo(manifest, command string, args ...string) (string, error) {
	target, err := filepath.Abs(cmp.Or(os.Getenv("CARGO_TARGET_DIR"), "../../.bin/test/cargo"))
	if err != nil {
		return "", err
	}
	args = append([]string{command, "--quiet", "--manifest-path", manifest, "--target-dir", target}, args...)
	return filepath.Join(target, "debug"), run("cargo", args...)
}

var buildRust = sync.OnceValues(func() (string, error) {
	dir, err := cargo(rust, "build", "--example", "steps")
	return filepath.Join(dir, "examples", "steps"), err
})

// rustScenarios are all but those of the realtime lobby, of which the crate has no client.
var rustScenarios = func() map[string]peertest.Scenario {
	all := maps.Clone(peertest.Players)
	maps.Copy(all, peertest.GameServers)
	return all
}()

func TestRustScenarios(t *testing.T) {
	t.Parallel()
	program, err := buildRust()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return start(t, program) }, rustScenarios)
}

// Tests of the crate itself, and of what its documentation shows.
func TestRustUnits(t *testing.T) {
	t.Parallel()
	_, err := cargo(rust, "test")
	require.NoError(t, err)
}

const rustPool = `
apps:
  - app: ships
    version: "1"
    provider: process
    launch: ships
    ports: [{name: game, protocol: udp}]
    modes: [duel]
    capacity: 8
    max_players: 8
    netcode: {dialect: lightyear-be, protocol_id: 80085}
    digest_required: true
pools:
  - {region: eu, app: ships, version: "1", min: 1, max: 1}
`

// connectToken seats a player, and returns the client id of its connect token and the address to connect to.
func connectToken(r *rigtest.Rig, sub string) (clientID, addr string) {
	r.T.Helper()
	status, m, err := r.PostPlay(sub, "/matchmake", rigtest.Fields{"region": "eu", "mode": "duel"})
	require.NoError(r.T, err)
	require.Equal(r.T, http.StatusOK, status, "%v", m)
	status, c, err := r.PostPlay(sub, "/resolve", rigtest.Fields{"session_handle": m["session_handle"]})
	require.NoError(r.T, err)
	require.Equal(r.T, http.StatusOK, status, "%v", c)
	token, _ := c["netcode"].(map[string]any)
	return fmt.Sprint(token["client_id"]), fmt.Sprintf("%v:%v", token["ip"], token["port"])
}

// A game server with the crate, which a worker has started as a process: it registers, reports its clients and goes on
// while a replica is killed.
func TestRustGameServer(t *testing.T) {
	t.Parallel()
	_, err := buildRust()
	require.NoError(t, err)
	dir, err := cargo(rust, "build", "--example", "server")
	require.NoError(t, err)
	addr := rigtest.FreeAddr(t)
	r := rigtest.NewRig(t, clitest.BuildDirector(t), "DIRECTOR_PROVIDERS=process", "DIRECTOR_PUBLIC_URL=http://"+addr,
		"DIRECTOR_PROCESS_DIR="+t.TempDir(),
		"DIRECTOR_PROCESS_COMMANDS=ships="+filepath.Join(dir, "examples", "server"),
		"DIRECTOR_PROCESS_PORTS=31800-31899")
	file := filepath.Join(t.TempDir(), "pool.yaml")
	require.NoError(t, os.WriteFile(file, []byte(rustPool), 0o600))
	r.RunCommand("pools", "apply", "-f", file, "--reason", "test")
	replica := r.StartReplica(addr, "--work")
	r.AwaitReady(replica)
	r.SetURLs(replica.URL)
	r.AwaitTrue("SELECT count(*) > 0 FROM deployments WHERE phase = 'ready' AND cert_digest LIKE 'ab:%'")

	ann, addrOfGame := connectToken(r, "ann")
	bob, _ := connectToken(r, "bob")
	game, err := net.Dial("udp", addrOfGame)
	require.NoError(t, err)
	defer func() { _ = game.Close() }()
	say := func(text string) string {
		t.Helper()
		_, err := game.Write([]byte(text))
		require.NoError(t, err)
		require.NoError(t, game.SetReadDeadline(time.Now().Add(time.Minute)))
		answer := make([]byte, 1024)
		n, err := game.Read(answer)
		require.NoError(t, err)
		return string(answer[:n])
	}
	require.Empty(t, say("+"+ann))
	require.Equal(t, "7 unknown", say("+7"))
	require.Empty(t, say("+"+bob))
	r.AwaitTrue("SELECT count(*) = 2 FROM seats WHERE state = 'connected'")

	heartbeat := rigtest.QueryOne[time.Time](r, "SELECT heartbeat_at FROM instance_leases")
	replica.Process.Kill()
	r.AwaitReady(r.StartReplica(addr, "--work"))
	r.AwaitTrue("SELECT heartbeat_at > $1 FROM instance_leases", heartbeat)
	require.Empty(t, say("-"+ann))
	r.AwaitTrue("SELECT array_agg(sub) = '{bob}' FROM seats WHERE state = 'connected'")
	r.RequireInvariants()
	endServers(r)
}

// endServers ends the game servers of the pool, with everybody on them: a process outlives its director.
func endServers(r *rigtest.Rig) {
	r.T.Helper()
	r.RunCommand("pools", "scale", "eu/ships/1", "--min", "0", "--max", "0", "--reason", "over")
	r.ExecSQL("SELECT ops.close_session(region || '.' || id, 'over') FROM sessions")
	r.ExecSQL("SELECT ops.stop_deployment(id, 'over') FROM deployments")
	require.Eventually(r.T, func() bool { return rigtest.QueryOne[int](r, "SELECT count(*) FROM deployments") == 0 },
		2*time.Minute, 100*time.Millisecond)
}
