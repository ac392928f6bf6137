package peers

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/rigtest"
)

// buildLightyear compiles the examples of the plugins for Bevy, and returns their directory.
var buildLightyear = sync.OnceValues(func() (string, error) {
	dir, err := cargo("../../sdk/rust/bevy/Cargo.toml", "build", "--examples")
	return filepath.Join(dir, "examples"), err
})

// Players and a game server with the plugins for Bevy: today's Lightyear accepts the connect tokens, and the director
// knows who is connected, while its only replica is killed and comes back.
func TestLightyearPlays(t *testing.T) {
	t.Parallel()
	programs, err := buildLightyear()
	require.NoError(t, err)
	addr := rigtest.FreeAddr(t)
	r := rigtest.New(t, clitest.BuildDirector(t), "DIRECTOR_PROVIDERS=process", "DIRECTOR_PUBLIC_URL=http://"+addr, "DIRECTOR_PROCESS_DIR="+t.TempDir(),
		"DIRECTOR_PROCESS_COMMANDS=ships="+filepath.Join(programs, "game-server"), "DIRECTOR_PROCESS_PORTS=31900-31999")
	file := filepath.Join(t.TempDir(), "pool.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.Replace(rustPool, "    digest_required: true\n", "", 1)), 0o600))
	r.Run("pools", "apply", "-f", file, "--reason", "test")
	replica := r.StartReplica(addr, "--work")
	r.AwaitReady(replica)

	connected := func() []string {
		return strings.Fields(rigtest.One[string](r, "SELECT coalesce(string_agg(connection, ' '), '') FROM seats WHERE state = 'connected'"))
	}
	play := func(sub string) (*bevyClient, string) {
		environ := []string{"DIRECTOR_URL=http://" + addr, "ACCESS_TOKEN=" + strings.TrimPrefix(r.As(sub).Get("Authorization"), "Bearer ")}
		c := startClient(t, environ, filepath.Join(programs, "player"), "eu", "duel")
		id := c.awaits("seated ")
		c.awaits("connected")
		require.Eventually(t, func() bool { return slices.Contains(connected(), id) }, time.Minute, 50*time.Millisecond)
		return c, id
	}
	ann, _ := play("ann")
	bob, bobsID := play("bob")
	replica.Kill()
	require.NoError(t, ann.leave.Close())
	ann.awaits("disconnected")
	r.AwaitReady(r.StartReplica(addr, "--work"))
	require.Eventually(t, func() bool { return slices.Equal(connected(), []string{bobsID}) }, time.Minute, 50*time.Millisecond)
	session := rigtest.One[string](r, "SELECT region || '.' || session_id FROM seats WHERE sub = 'bob'")
	r.Run("players", "free-seat", session, "bob", "--reason", "test")
	bob.awaits("disconnected") // the answer to the next list of clients names him
	r.RequireInvariants()
}
