package timerslack

import (
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// asProgram makes this test binary one that loosens its timers and says how they are.
const asProgram = "RUN_AS_PROGRAM"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) == "" {
		os.Exit(m.Run())
	}
	Loosen()
	now, err := unix.PrctlRetInt(unix.PR_GET_TIMERSLACK, 0, 0, 0, 0)
	fmt.Println(time.Duration(now), err, os.Args[1:], os.Getenv("GIVEN"), os.Getenv(started))
}

// Pins timers that stay as they are, a program that starts itself again and again or loses what it was started with, and
// one that overrules who runs it.
func TestLoosen(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name          string
		found, wanted time.Duration
		environ       string
	}{
		{"as Linux has them", usual, loose, ""},
		{"as a unit file wants them", 200 * time.Microsecond, 200 * time.Microsecond, ""},
		{"where a start does not keep it", usual, usual, started + "=1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cmd := exec.Command(os.Args[0], "a", "b c")
			cmd.Env = []string{asProgram + "=1", "GIVEN=given", c.environ}
			runtime.LockOSThread() // never unlocked: the thread ends with the test, and its slack with it
			require.NoError(t, unix.Prctl(unix.PR_SET_TIMERSLACK, uintptr(c.found), 0, 0, 0))
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, string(out))
			require.Equal(t, fmt.Sprintln(c.wanted, nil, []string{"a", "b c"}, "given", ""), string(out))
		})
	}
}
