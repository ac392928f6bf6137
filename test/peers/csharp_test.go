package peers

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/peertest"
)

const csharp = "../../sdk/csharp"

// compileCSharp compiles sources with the package into a program or a library in the directory of buildDirectory.
func compileCSharp(target, name string, more ...string) (string, error) {
	dir, err := buildDirectory()
	if err != nil {
		return "", err
	}
	runtime, err := filepath.Glob(csharp + "/Runtime/*.cs")
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	flags := []string{"-langversion:latest", "-warnaserror+", "-warn:4", "-r:System.Net.Http", "-target:" + target, "-out:" + file}
	return file, run("mcs", append(append(flags, runtime...), more...)...)
}

var buildCSharp = sync.OnceValues(func() (string, error) {
	return compileCSharp("exe", "csharp-steps.exe", csharp+"/Tests~/Steps.cs")
})

func TestCSharpScenarios(t *testing.T) {
	t.Parallel()
	program, err := buildCSharp()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return startPeer(t, "mono", program) }, scenarios)
}

// runtimeConfig lets any .NET from 3.1 on run a program, also without the libraries of languages.
const runtimeConfig = `{"runtimeOptions": {"framework": {"name": "Microsoft.NETCore.App", "version": "3.1.0"}, "rollForward": "LatestMajor",
	"configProperties": {"System.Globalization.Invariant": true}}}`

var makeDotnet = sync.OnceValues(func() (string, error) {
	program, err := buildCSharp()
	if err != nil {
		return "", err
	}
	text, err := os.ReadFile(program)
	if err != nil {
		return "", err
	}
	library := strings.TrimSuffix(program, ".exe") + ".dll"
	if err := os.WriteFile(library, text, 0o600); err != nil {
		return "", err
	}
	return library, os.WriteFile(strings.TrimSuffix(program, ".exe")+".runtimeconfig.json", []byte(runtimeConfig), 0o600)
})

// It needs a .NET, of which Debian has no package.
func TestDotnetScenarios(t *testing.T) {
	t.Parallel()
	library, err := makeDotnet()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return startPeer(t, "dotnet", library) }, scenarios)
}

func TestCSharpUnits(t *testing.T) {
	t.Parallel()
	program, err := compileCSharp("exe", "csharp-units.exe", csharp+"/Tests~/Units.cs")
	require.NoError(t, err)
	require.NoError(t, run("mono", program))
}

// Pins a sample that does not compile. Unity's fields are set by its editor, so the compiler must not complain.
func TestCSharpCompilesForUnity(t *testing.T) {
	t.Parallel()
	samples, err := filepath.Glob(csharp + "/Samples~/*/*.cs")
	require.NoError(t, err)
	require.NotEmpty(t, samples)
	_, err = compileCSharp("library", "csharp-unity.dll",
		append(samples, csharp+"/Tests~/UnityStubs.cs", "-define:UNITY_2021_3_OR_NEWER", "-nowarn:649,414")...)
	require.NoError(t, err)
}

// Unity ignores files of a package that have no .meta beside them, and confuses those whose ids are equal.
func TestUnityKnowsAllFiles(t *testing.T) {
	t.Parallel()
	known := map[string]string{}
	require.NoError(t, filepath.WalkDir(csharp, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, "~") {
			return fs.SkipDir
		}
		if err != nil || path == csharp || strings.HasSuffix(path, ".meta") {
			return err
		}
		text, err := os.ReadFile(path + ".meta")
		require.NoError(t, err)
		guid := regexp.MustCompile(`(?m)^guid: ([0-9a-f]{32})$`).FindStringSubmatch(string(text))
		require.NotNil(t, guid, path)
		require.Empty(t, known[guid[1]], path)
		known[guid[1]] = path
		return nil
	}))
	require.NotEmpty(t, known)
}
