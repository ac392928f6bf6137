package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/rigtest"
)

// lightyear is a release of Lightyear with which the plugins for Bevy are compiled.
type lightyear struct {
	manifest, suffix string // of the names of the examples
	ports            string // for game servers
}

// The sources are the same for both.
var lightyears = map[string]lightyear{
	"0.25": {"lightyear-0.25/Cargo.toml", "-0-25", "31900-31949"},
	"0.29": {"../../sdk/rust/bevy/Cargo.toml", "", "31950-31999"},
}

// Players and a game server with the plugins for Bevy: Lightyear accepts the connect tokens, and the director knows who is
// connected, while its only replica is killed and comes back.
func TestLightyearPlays(t *testing.T) {
	t.Parallel()
	for version, l := range lightyears {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			l.play(t)
		})
	}
}

func (l lightyear) play(t *testing.T) {
	t.Helper()
	dir, err := cargo(l.manifest, "build", "--lib", "--examples")
	require.NoError(t, err)
	program := func(name string) string { return filepath.Join(dir, "examples", name+l.suffix) }
	addr := rigtest.FreeAddr(t)
	r := rigtest.NewRig(t, clitest.BuildDirector(t), "DIRECTOR_PROVIDERS=process", "DIRECTOR_PUBLIC_URL=http://"+addr,
		"DIRECTOR_PROCESS_DIR="+t.TempDir(),
		"DIRECTOR_PROCESS_COMMANDS=ships="+program("game-server"), "DIRECTOR_PROCESS_PORTS="+l.ports)
	file := filepath.Join(t.TempDir(), "pool.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(rustPool, "    digest_required: true\n", "", 1)),
		0o600))
	r.RunCommand("pools", "apply", "-f", file, "--reason", "test")
	replica := r.StartReplica(addr, "--work")
	r.AwaitReady(replica)

	connected := func() []string {
		return strings.Fields(rigtest.QueryOne[string](r,
			"SELECT coalesce(string_agg(connection, ' '), '') FROM seats WHERE state = 'connected'"))
	}
	play := func(sub string) (*bevyClient, string) {
		environ := []string{"DIRECTOR_URL=http://" + addr,
			"ACCESS_TOKEN=" + strings.TrimPrefix(r.HeaderOf(sub).Get("Authorization"), "Bearer ")}
		c := startClient(t, environ, program("player"), "eu", "duel")
		id := c.awaits("seated ")
		c.awaits("connected")
		require.Eventually(t, func() bool { return slices.Contains(connected(), id) }, time.Minute, 50*time.Millisecond)
		return c, id
	}
	ann, _ := play("ann")
	bob, bobsID := play("bob")
	replica.Process.Kill()
	require.NoError(t, ann.leave.Close())
	ann.awaits("disconnected")
	r.AwaitReady(r.StartReplica(addr, "--work"))
	require.Eventually(t, func() bool { return slices.Equal(connected(), []string{bobsID}) }, time.Minute,
		50*time.Millisecond)
	session := rigtest.QueryOne[string](r, "SELECT region || '.' || session_id FROM seats WHERE sub = 'bob'")
	r.RunCommand("players", "free-seat", session, "bob", "--reason", "test")
	bob.awaits("disconnected") // the answer to the next list of clients names him
	r.RequireInvariants()
	endServers(r)
}
