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

// StartProgram starts a program that prints a line when it is ready, and ends with its input, which endInput ends. It
// returns that line. What is left of the program is killed when the test ends.
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

// MemoryDir returns a directory of files in memory, which is faster than a disk, or that of temporary files where there
// is none.
func MemoryDir() string {
	if _, err := os.Stat("/dev/shm"); err == nil {
		return "/dev/shm"
	}
	return os.TempDir()
}

// PostgresDir returns a directory for programs that run a Postgres, which may do so as another user and has to pass
// through it, in [MemoryDir]. It is removed when the test ends.
func PostgresDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp(MemoryDir(), "director-program-") // not a name that dbtest sweeps
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

// EmptiedDir is PostgresDir for programs that leave nothing behind.
func EmptiedDir(t testing.TB) string {
	t.Helper()
	dir := PostgresDir(t)
	t.Cleanup(func() { require.NoError(t, os.Remove(dir), "something was left behind") })
	return dir
}
