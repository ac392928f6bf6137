package main

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// However the demo ends, nothing of it goes on running, and after Ctrl-C nothing is left on disk either.
func TestEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]struct {
		signal syscall.Signal
		code   int // -1: died of the signal
		clean  bool
	}{
		"Ctrl-C":  {syscall.SIGINT, exitInterrupted, true},
		"kill -9": {syscall.SIGKILL, -1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := tempDir(t)
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir, "CI=true", "DEMO_SECONDS=300")
			cmd.Stderr = t.Output()
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			awaitPlayers(t, bufio.NewScanner(stdout))
			require.GreaterOrEqual(t, len(running(dir)), 10, "Postgres, two replicas, a worker and six servers")

			require.NoError(t, cmd.Process.Signal(end.signal))
			_ = cmd.Wait() // Its error is the exit code.
			require.Equal(t, end.code, cmd.ProcessState.ExitCode())
			require.Eventually(t, func() bool { return len(running(dir)) == 0 }, 20*time.Second, 50*time.Millisecond, "still running: %v", running(dir))
			left, err := os.ReadDir(dir)
			require.NoError(t, err)
			require.Equal(t, end.clean, len(left) == 0, left)
		})
	}
}

func awaitPlayers(t *testing.T, lines *bufio.Scanner) {
	for lines.Scan() {
		t.Log(lines.Text())
		if strings.Contains(lines.Text(), "playing ") && !strings.Contains(lines.Text(), "playing 0 ") {
			return
		}
	}
	require.Fail(t, "the demo ended before anybody played")
}

// running are the processes that were started with a path below dir on their command line, or work there.
func running(dir string) (found []string) {
	processes, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range processes {
		line, _ := os.ReadFile(filepath.Join(p, "cmdline"))
		cwd, _ := os.Readlink(filepath.Join(p, "cwd"))
		if strings.Contains(string(line), dir+"/") || strings.HasPrefix(cwd, dir+"/") {
			found = append(found, strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return found
}
