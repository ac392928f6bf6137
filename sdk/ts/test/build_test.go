// Package sdkts_test tests the TypeScript client of sdk/ts, built from its source: its own tests in Node.js, and its
// calls in Node.js and in Chromium against replicas on a real Postgres.
package sdkts_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/chromiumtest"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/nodetest"
)

func TestMain(m *testing.M) {
	nodetest.PrepareFor("..")
	chromiumtest.Prepare()
	// Node.js 20 has a WebSocket behind this flag, later ones have it anyway.
	_ = os.Setenv("NODE_OPTIONS", "--experimental-websocket")
	dbtest.VerifyNoLeaks(m, clitest.RemoveDirector, removeBuilt)
}

var (
	site  string // the directory of what build made; "" until a test needs it
	build = sync.OnceValue(func() (err error) {
		if site, err = os.MkdirTemp("", "director-sdkts-"); err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(site, "package.json"), []byte(`{"type": "module"}`), 0o600); err != nil {
			return err
		}
		out, err := exec.Command("node", module("typescript/bin/tsc"), "-p", "..", "--outDir", filepath.Join(site, "sdk")).CombinedOutput()
		if err != nil {
			return fmt.Errorf("tsc: %w: %s", err, out)
		}
		return os.CopyFS(filepath.Join(site, "test"), os.DirFS("."))
	})
)

func module(name string) string { return filepath.Join(nodetest.Modules(), filepath.FromSlash(name)) }

// built compiles the package, once in a test process. It returns a directory with the folders sdk, which is the
// package's dist, and test, which is this one.
func built(t testing.TB) string {
	t.Helper()
	require.NoError(t, build())
	return site
}

func removeBuilt() {
	if site != "" {
		_ = os.RemoveAll(site)
	}
}
