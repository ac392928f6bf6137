//go:build linux || darwin

package lastwill_test

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/dev/lastwill"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/programtest"
)

// parentEnv makes this test binary a process that calls Leave and waits.
const parentEnv = "LASTWILL_PARENT"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentEnv); dir != "" {
		if err := beParent(dir); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func beParent(dir string) error {
	const line = `touch "$1/$2"`
	revoke, err := lastwill.Leave(line, dir, "revoked")
	if err != nil {
		return err
	}
	revoke()
	revoke()
	if _, err := lastwill.Leave(line, dir, "it's done"); err != nil {
		return err
	}
	runtime.GC() // earlier the garbage collector closed the pipe with the last reference to it
	runtime.GC()
	fmt.Println("ready")
	_, err = bufio.NewReader(os.Stdin).ReadString('\n')
	return err
}

// The command must run after the process has ended, killed or not, never before, and not if it was cancelled.
func TestLineRunsAfterTheProcess(t *testing.T) {
	t.Parallel()
	for name, kill := range map[string]bool{"ends": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			cmd := exec.Command(os.Args[0])
			cmd.Env = append(os.Environ(), parentEnv+"="+dir)
			said, endInput := programtest.StartProgram(t, cmd)
			require.Equal(t, "ready", said)
			require.Empty(t, entries(t, dir), "the process is still running")
			if kill {
				require.NoError(t, cmd.Process.Kill())
			}
			endInput()
			_ = cmd.Wait()
			require.Eventually(t, func() bool { return len(entries(t, dir)) > 0 }, 10*time.Second, time.Millisecond)
			require.Equal(t, []string{"it's done"}, entries(t, dir))
		})
	}
}

func entries(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	found := must.Get(filepath.Glob(filepath.Join(dir, "*")))(t)
	for _, path := range found {
		names = append(names, filepath.Base(path))
	}
	return names
}
