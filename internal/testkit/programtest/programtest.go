// Package programtest starts programs beside a test, such as its own binary.
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
