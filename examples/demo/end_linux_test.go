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

// asProgram makes the test binary run the demo, for tests that kill it.
const asProgram = "DEMO_TEST_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		main()
	}
	os.Exit(m.Run())
}

// tempDir makes a directory that Postgres can enter where it runs as another user, as under root; t.TempDir is closed to it.
func tempDir(t *testing.T) string {
	dir, err := os.MkdirTemp("", "demo-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o711))
	return dir
}

// However the demo ends, no process of it is left, and after Ctrl-C no file either.
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
			_ = cmd.Wait() // the error is the exit code
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

// running lists the processes with a path below dir in their command line or as working directory.
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
