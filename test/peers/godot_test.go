package peers

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/peertest"
)

const godot = "../../sdk/godot"

// makeProject makes a project of Godot with the add-on, once in a test process.
var makeProject = sync.OnceValues(func() (string, error) {
	dir, err := buildDirectory()
	if err != nil {
		return "", err
	}
	project := filepath.Join(dir, "godot")
	if err := os.CopyFS(project, os.DirFS(godot+"/test")); err != nil {
		return "", err
	}
	return project, os.CopyFS(filepath.Join(project, "addons"), os.DirFS(godot+"/addons"))
})

func TestGodot3Scenarios(t *testing.T) {
	t.Parallel()
	project, err := makeProject()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer {
		return startPeer(t, "godot3-server", "--path", project, "-s", "steps.gd")
	}, scenarios)
}

// It needs Godot 4, of which Debian has no package.
func TestGodot4Scenarios(t *testing.T) {
	t.Parallel()
	project, err := makeProject()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer {
		return startPeer(t, "godot4", "--headless", "--path", project, "-s", "steps.gd")
	}, scenarios)
}
