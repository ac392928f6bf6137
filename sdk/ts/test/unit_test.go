package sdkts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package's own tests, with servers that stand in for a director: retries, tokens, broken streams, hostile answers, its size.
func TestNodeUnit(t *testing.T) {
	t.Parallel()
	dir := built(t)
	files, err := filepath.Glob(filepath.Join(dir, "test", "*.test.mjs"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	run := exec.CommandContext(t.Context(), "node", append([]string{"--test", "--test-reporter=spec"}, files...)...)
	run.Env = append(os.Environ(), "DIRECTOR_SDK="+filepath.Join(dir, "sdk", "index.js"), "DIRECTOR_SDK_MODULES="+module("."))
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "fail 0")
	require.NotContains(t, string(out), "tests 0")
}

// Pins types that differ from api/openapi.yaml.
func TestNodeTypesAreCurrent(t *testing.T) {
	t.Parallel()
	fresh := filepath.Join(t.TempDir(), "api.ts")
	out, err := exec.CommandContext(t.Context(), "node", module("openapi-typescript/bin/cli.js"), "../../../api/openapi.yaml", "-o", fresh).CombinedOutput()
	require.NoError(t, err, "%s", out)
	want, err := os.ReadFile(fresh)
	require.NoError(t, err)
	have, err := os.ReadFile("../src/api.ts")
	require.NoError(t, err)
	require.True(t, string(want) == string(have), "sdk/ts/src/api.ts is not current: make generate")
}
