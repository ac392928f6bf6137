package sdkts_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// installPacked packs the package as `npm publish` does, and installs the tarball in an empty project. It returns the project's directory and the names of the package's files.
func installPacked(t *testing.T) (project string, files []string) {
	t.Helper()
	source, project := t.TempDir(), t.TempDir()
	for _, name := range []string{"package.json", "README.md", "LICENSE", "tsconfig.json"} {
		copyFile(t, filepath.Join("..", name), filepath.Join(source, name))
	}
	require.NoError(t, os.CopyFS(filepath.Join(source, "src"), os.DirFS("../src")))
	run(t, source, "node", module("typescript/bin/tsc"), "-p", ".") // into dist/, as prepack does: source maps are relative to it
	run(t, source, "npm", "pack", "--ignore-scripts", "--pack-destination", project)
	tarball := must.Get(filepath.Glob(filepath.Join(project, "*.tgz")))(t)
	require.Len(t, tarball, 1)
	require.NoError(t, os.WriteFile(filepath.Join(project, "package.json"), []byte(`{"type": "module", "private": true}`), 0o600))
	run(t, project, "npm", "install", "--offline", "--ignore-scripts", "--no-audit", "--no-fund", "./"+filepath.Base(tarball[0]))
	listed := must.Get(exec.CommandContext(t.Context(), "tar", "-tzf", tarball[0]).Output())(t)
	for name := range strings.FieldsSeq(string(listed)) {
		files = append(files, strings.TrimPrefix(name, "package/"))
	}
	return project, files
}

func run(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %q: %s", name, args, out)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text := must.Get(os.ReadFile(from))(t)
	require.NoError(t, os.WriteFile(to, text, 0o600))
}

var typescriptBlock = regexp.MustCompile("(?s)```ts\n(.*?)```")

// Pins a README whose client does not compile against what is published, and a package that lacks a file.
func TestNodeClientOfTheReadmeCompilesAgainstThePackedPackage(t *testing.T) {
	t.Parallel()
	project, files := installPacked(t)
	text, err := os.ReadFile("../README.md")
	require.NoError(t, err)
	var client strings.Builder
	for _, block := range typescriptBlock.FindAllStringSubmatch(string(text), -1) {
		client.WriteString(block[1] + "\n")
	}
	require.Greater(t, strings.Count(client.String(), "\n"), 100)
	for _, call := range []string{".queue(", ".watch(", ".accept(", ".decline(", ".resolve(", ".ticket(", "DirectorError", "onRetry"} {
		require.Contains(t, client.String(), call)
	}
	require.NoError(t, os.WriteFile(filepath.Join(project, "client.ts"), []byte(client.String()), 0o600))
	for kind, target := range map[string]string{"nodenext": "nodenext", "bundler": "es2022"} {
		run(t, project, "node", module("typescript/bin/tsc"), "--noEmit", "--strict", "--exactOptionalPropertyTypes", "--noUncheckedIndexedAccess",
			"--noFallthroughCasesInSwitch", "--module", target, "--moduleResolution", kind, "--target", "es2022", "--lib", "es2022,dom", "client.ts")
	}
	require.Subset(t, files, []string{"package.json", "README.md", "LICENSE", "dist/index.js", "dist/index.d.ts", "dist/lobby/index.js", "dist/lobby/index.d.ts"})
	for _, name := range files {
		require.NotContains(t, name, "test")
		require.NotContains(t, name, "generate")
	}
	// The source map of each module, and of its types, leads to a file of the package.
	root, maps := filepath.Join(project, "node_modules", "@lattice-director", "sdk"), 0
	for _, name := range files {
		if !strings.HasSuffix(name, ".map") {
			continue
		}
		maps++
		text := must.Get(os.ReadFile(filepath.Join(root, name)))(t)
		var mapped struct{ Sources []string }
		require.NoError(t, json.Unmarshal(text, &mapped))
		for _, source := range mapped.Sources {
			require.Contains(t, files, path.Join(path.Dir(name), source), name)
		}
		code := must.Get(os.ReadFile(filepath.Join(root, strings.TrimSuffix(name, ".map"))))(t)
		require.Contains(t, string(code), "//# sourceMappingURL="+path.Base(name))
	}
	require.Greater(t, maps, 20)
}

// Pins types of game servers and operators in a package for players, and a package of which nobody finds the source.
func TestNodeThePackageIsForPlayers(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../src/api.ts")
	require.NoError(t, err)
	var served []string
	for _, match := range regexp.MustCompile(`(?m)^    "(/[^"]*)": \{$`).FindAllStringSubmatch(string(text), -1) {
		served = append(served, match[1])
	}
	require.Equal(t, []string{"/matchmake", "/resolve", "/sessions/{id}", "/regions", "/tickets", "/tickets/{id}", "/tickets/{id}/events", "/tickets/{id}/accept", "/tickets/{id}/decline", "/login-queue", "/login-queue/events"},
		served)
	for _, word := range []string{"FleetToken", "Registration", "Heartbeat", "OpsToken", "Deployment", "Backend"} {
		require.NotContains(t, string(text), "        "+word+": {", word)
	}
	text, err = os.ReadFile("../package.json")
	require.NoError(t, err)
	var pkg struct {
		Repository struct{ URL, Directory string }
	}
	require.NoError(t, json.Unmarshal(text, &pkg))
	require.Equal(t, "sdk/ts", pkg.Repository.Directory)
	require.Contains(t, pkg.Repository.URL, "github.com/lattice-director/director")
}
