package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// Pins main, which has to loosen the timers of what runs for long (package timerslack), in the process that was started.
func TestLongLivedCommandsLoosenTimers(t *testing.T) {
	t.Parallel()
	p := startDev(t, scratch(t))
	p.api()
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.cmd.Process.Pid))
	require.NoError(t, err)
	require.Contains(t, string(environ), "_LATTICE_TIMERSLACK=1")
	p.interrupt()
}
