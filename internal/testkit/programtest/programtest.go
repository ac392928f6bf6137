// Package programtest starts programs beside a test, such as its own binary, and makes directories for them.
package programtest

import (
	"bufio"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// StartProgram starts a program that prints a line when it is ready, and that ends with its input. It returns that
// line, and a function that ends the input. The program is killed when the test ends, if it still runs.
func StartProgram(t testing.TB, cmd *exec.Cmd) (line string, endInput func()) {
	t.Helper()
	cmd.Stderr = os.Stderr
	stdin, err := cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	endInput = func() { _ = stdin.Close() }
	t.Cleanup(func() {
		endInput()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	line, err = bufio.NewReader(stdout).ReadString('\n')
	require.NoError(t, err, "the program printed nothing")
	return strings.TrimSpace(line), endInput
}

// MemoryDir returns the directory of files in memory, which are faster than those on a disk, or the directory of
// temporary files where there is none in memory.
func MemoryDir() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return os.TempDir()
}

// PostgresDir makes a directory in [MemoryDir] for programs that run a Postgres. It is removed when the test ends.
func PostgresDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(MemoryDir(), "director-program-") // not a name that dbtest sweeps
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	// Where root runs the tests, Postgres runs as another user, who has to pass through the directory.
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

// EmptiedDir is [PostgresDir] for programs that have to delete all that they put into it.
func EmptiedDir(t testing.TB) string {
	t.Helper()
	dir := PostgresDir(t)
	t.Cleanup(func() { require.NoError(t, os.Remove(dir), "something was left behind") })
	return dir
}
