package main

import (
	"bufio"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
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
			dir := t.TempDir()
			// Postgres, which runs as another user under root, must enter this directory and the one above it.
			require.NoError(t, errors.Join(os.Chmod(dir, 0o711), os.Chmod(filepath.Dir(dir), 0o711)))
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), asProgram+"=1", "TMPDIR="+dir, "CI=true", "DEMO_SECONDS=300")
			cmd.Stderr = t.Output()
			stdout, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			playing := regexp.MustCompile(`playing [1-9]`)
			for lines := bufio.NewScanner(stdout); lines.Scan() && !playing.MatchString(lines.Text()); {
				t.Log(lines.Text())
			}
			require.GreaterOrEqual(t, len(running(dir)), 11, "Postgres, two replicas, two workers and six servers")

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
