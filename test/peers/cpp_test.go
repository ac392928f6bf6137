package peers

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/test/peertest"
)

const cpp = "../../sdk/cpp"

// strictFlags are flags that the headers compile with, also in engines, which know no exceptions and no RTTI.
var strictFlags = []string{"-std=c++17", "-fno-exceptions", "-fno-rtti", "-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Werror", "-I" + cpp + "/include"}

var buildCpp = sync.OnceValues(func() (string, error) {
	dir, err := buildDirectory()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "cpp-steps")
	return program, run("g++", append(strictFlags, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		cpp+"/test/steps.cpp", "-o", program, "-lcurl")...)
})

func TestCppScenarios(t *testing.T) {
	t.Parallel()
	program, err := buildCpp()
	require.NoError(t, err)
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return startPeer(t, program) }, scenarios)
}

// A transport that delivers answers at their end, as Unreal's, makes clients poll.
func TestCppPolls(t *testing.T) {
	t.Parallel()
	program, err := buildCpp()
	require.NoError(t, err)
	polled := map[string]peertest.Scenario{}
	for _, name := range []string{"a party waits with one ticket", "an aborted call and an aborted watch end"} {
		require.Contains(t, scenarios, name)
		polled[name] = scenarios[name]
	}
	peertest.Run(t, "", func(t *testing.T) peertest.Peer { return startPeer(t, "env", "DIRECTOR_STEPS_POLL=1", program) }, polled)
}

// Pins a header that compiles only behind another.
func TestCppHeadersStandAlone(t *testing.T) {
	t.Parallel()
	headers, err := filepath.Glob(cpp + "/include/lattice/*.hpp")
	require.NoError(t, err)
	require.NotEmpty(t, headers)
	source := filepath.Join(t.TempDir(), "all.cpp")
	for _, header := range headers {
		require.NoError(t, os.WriteFile(source, []byte("#include <lattice/"+filepath.Base(header)+">\n"), 0o600))
		require.NoError(t, run("g++", append(strictFlags, "-fsyntax-only", source)...))
	}
}

func TestCppUnits(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "units")
	require.NoError(t, run("g++", append(strictFlags, "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all",
		cpp+"/test/units.cpp", "-o", program)...))
	require.NoError(t, run(program))
}
