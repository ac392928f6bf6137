package peers

import (
	"cmp"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
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
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return startPeer(t, program) }, rustScenarios)
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
	m := r.RequireOK(r.PostPlay(sub, "/matchmake", rigtest.Fields{"region": "eu", "mode": "duel"}))
	c := r.RequireOK(r.PostPlay(sub, "/resolve", rigtest.Fields{"session_handle": m["session_handle"]}))
	token, _ := c["netcode"].(map[string]any)
	return fmt.Sprint(token["client_id"]), fmt.Sprintf("%v:%v", token["ip"], token["port"])
}

// poolRig is an installation whose replica starts the program of game servers as processes.
type poolRig struct {
	*rigtest.Rig

	addr    string // of the replica
	replica *rigtest.Process
}

// newPoolRig starts the replica with the app version and the pool of a document, and with the ports for game servers.
func newPoolRig(t *testing.T, document, program, ports string, settings ...string) *poolRig {
	t.Helper()
	addr := rigtest.FreeAddr(t)
	r := &poolRig{addr: addr, Rig: rigtest.NewRigOn(t, clitest.BuildDirector(t), dbtest.New(t), append(settings,
		"DIRECTOR_PROVIDERS=process", "DIRECTOR_PUBLIC_URL=http://"+addr, "DIRECTOR_PROCESS_DIR="+t.TempDir(),
		"DIRECTOR_PROCESS_COMMANDS=ships="+program, "DIRECTOR_PROCESS_PORTS="+ports)...)}
	r.ApplyPools(document)
	r.start()
	r.SetURLs(r.replica.URL)
	return r
}

// start starts the replica, at the address that it had before.
func (r *poolRig) start() {
	r.T.Helper()
	r.replica = r.StartReplica(r.addr, "--work")
	r.AwaitReady(r.replica)
}

// awaitSeat waits until a connection has a seat.
func (r *poolRig) awaitSeat(id string) {
	r.T.Helper()
	r.AwaitTrue("SELECT EXISTS (SELECT FROM seats WHERE state = 'connected' AND connection = $1)", id)
}

// awaitOnlySeat waits until this connection, and no other one, has a seat.
func (r *poolRig) awaitOnlySeat(id string) {
	r.T.Helper()
	r.AwaitTrue("SELECT array_agg(connection) = ARRAY[$1::text] FROM seats WHERE state = 'connected'", id)
}

// A game server with the crate, which a worker has started as a process: it registers, reports its clients and
// continues while a replica is killed.
func TestRustGameServer(t *testing.T) {
	t.Parallel()
	_, err := buildRust()
	require.NoError(t, err)
	dir, err := cargo(rust, "build", "--example", "server")
	require.NoError(t, err)
	r := newPoolRig(t, rustPool, filepath.Join(dir, "examples", "server"), "31800-31899")
	r.AwaitTrue("SELECT count(*) > 0 FROM deployments WHERE phase = 'ready' AND cert_digest LIKE 'ab:%'")

	ann, addrOfGame := connectToken(r.Rig, "ann")
	bob, _ := connectToken(r.Rig, "bob")
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

	heartbeat := rigtest.QueryOne[time.Time](r.Rig, "SELECT heartbeat_at FROM instance_leases")
	r.replica.Process.Kill()
	r.start()
	r.AwaitTrue("SELECT heartbeat_at > $1 FROM instance_leases", heartbeat)
	require.Empty(t, say("-"+ann))
	r.AwaitTrue("SELECT array_agg(sub) = '{bob}' FROM seats WHERE state = 'connected'")
	r.RequireInvariants()
	endServers(r.Rig)
}

// endServers ends the game servers of the pool, with everybody on them: a process outlives its director.
func endServers(r *rigtest.Rig) {
	r.T.Helper()
	r.RunCommand("pools", "scale", "eu/ships/1", "--min", "0", "--max", "0", "--reason", "over")
	r.ExecSQL("SELECT ops.close_session(region || '.' || id, 'over') FROM sessions")
	r.ExecSQL("SELECT ops.stop_deployment(id, 'over') FROM deployments")
	r.AwaitTrue("SELECT count(*) = 0 FROM deployments")
}
