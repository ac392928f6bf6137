package sdkts_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The package's own tests, with servers that stand in for a director: retries, tokens, broken streams, hostile answers,
// its size.
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
	root := t.TempDir()
	for _, name := range []string{"sdk/ts/generate.mjs", "sdk/ts/src/api.ts", "api/openapi.yaml"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(root, name)), 0o750))
		copyFile(t, filepath.Join("../../..", name), filepath.Join(root, name))
	}
	require.NoError(t, os.Symlink(module("."), filepath.Join(root, "sdk/ts/node_modules")))
	run(t, filepath.Join(root, "sdk/ts"), "node", "generate.mjs", "--check")
}

// Pins an example of the documentation that does not compile, and a package whose types programs cannot find.
func TestNodeExampleCompiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	pkg := filepath.Join(dir, "node_modules", "@lattice-director", "sdk")
	require.NoError(t, os.MkdirAll(pkg, 0o750))
	require.NoError(t, os.CopyFS(filepath.Join(pkg, "dist"), os.DirFS(filepath.Join(built(t), "sdk"))))
	for from, to := range map[string]string{"../package.json": filepath.Join(pkg, "package.json"), "example.ts": filepath.Join(dir, "example.ts"),
		"lobbyexample.ts": filepath.Join(dir, "lobbyexample.ts")} {
		text, err := os.ReadFile(from)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(to, text, 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"type": "module"}`), 0o600))
	for _, kind := range []string{"nodenext", "bundler"} {
		target := map[string]string{"nodenext": "nodenext", "bundler": "es2022"}[kind]
		tsc := exec.CommandContext(t.Context(), "node", module("typescript/bin/tsc"), "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--module", target,
			"--moduleResolution", kind, "--target", "es2022", "--lib", "es2022,dom", "--moduleDetection", "force", "example.ts", "lobbyexample.ts")
		tsc.Dir = dir
		out, err := tsc.CombinedOutput()
		require.NoError(t, err, "%s: %s", kind, out)
	}
}
