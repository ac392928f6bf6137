package process_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/provider"
	"github.com/lattice-director/director/provider/process"
)

// Pins a server that reads the director's files, or makes the director signal other processes.
func TestServersRunAsAnotherUser(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start processes as another user") //nolint:forbidigo // CI is root; a developer need not be
	}
	dir := dirOf(t)
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755))
	cfg := config(dir, false)
	cfg.User = &process.User{UID: 65534, GID: 65534}
	try := `id -u; id -G; pwd; touch mine && echo mine; cat ../state.json || echo hidden; (echo 1 >&4) || echo closed; (echo 1 >../pid) || echo kept; exec sleep 300`
	script := filepath.Join(t.TempDir(), "try")
	require.NoError(t, os.WriteFile(script, []byte(try), 0o644))
	require.NoError(t, errors.Join(os.Chmod(filepath.Dir(script), 0o755), os.Chmod(filepath.Dir(filepath.Dir(script)), 0o755)))
	cfg.Commands["game"] = []string{"/bin/sh", script}
	p := open(t, cfg)
	ref := deploy(t, p)
	text := awaitLog(t, dir, ref, "kept")
	require.Contains(t, text, "65534\n65534\n"+filepath.Join(dir, string(ref), "work")+"\nmine\n")
	require.Contains(t, text, "hidden")
	require.Contains(t, text, "closed")
	await(t, p, ref, provider.PhaseReady)
	require.NoError(t, p.Stop(t.Context(), ref, time.Minute))
	await(t, p, ref, provider.PhaseGone)
}
