package peers

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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

// Players and a game server with the plugins for Bevy: Lightyear accepts the connect tokens, and the director knows who
// is connected, while its only replica is killed and comes back.
func TestLightyearPlays(t *testing.T) {
	t.Parallel()
	for version, l := range lightyears {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			dir, err := cargo(l.manifest, "build", "--lib", "--examples")
			require.NoError(t, err)
			program := func(name string) string { return filepath.Join(dir, "examples", name+l.suffix) }
			r := newPoolRig(t, strings.Replace(rustPool, "    digest_required: true\n", "", 1), program("game-server"), l.ports)
			play := func(sub string) (*bevyClient, string) {
				c := startClient(t, []string{"DIRECTOR_URL=http://" + r.addr, "ACCESS_TOKEN=" + r.PlayerLogin.AccessToken(sub)},
					program("player"), "eu", "duel")
				id := c.awaitLine("seated ")
				c.awaitLine("connected")
				r.awaitSeat(id)
				return c, id
			}
			ann, _ := play("ann")
			bob, bobsID := play("bob")
			r.replica.Process.Kill()
			require.NoError(t, ann.leave.Close())
			ann.awaitLine("disconnected")
			r.start()
			r.awaitOnlySeat(bobsID)
			session := rigtest.QueryOne[string](r.Rig, "SELECT region || '.' || session_id FROM seats WHERE sub = 'bob'")
			r.RunCommand("players", "free-seat", session, "bob", "--reason", "test")
			bob.awaitLine("disconnected") // the answer to the next list of clients names him
			r.RequireInvariants()
			endServers(r.Rig)
		})
	}
}
