package faults

import (
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/test/rigtest"
)

// longestPeriod is longer than any loop of a process waits for its next turn, so that each has had turns with nothing
// to do.
const longestPeriod = 70 * time.Second

var cpuSeconds = regexp.MustCompile(`(?m)^process_cpu_seconds_total ([0-9.e+-]+)$`)

// A process with every listener and every loop, and nobody who calls it, uses next to no CPU: without profiles, and
// with one for which nobody queues. Pins a loop that never sleeps again once something without an occasion is due.
func TestIdleProcessesSleep(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestALoopWithoutProfilesSleeps")
	for name, prepare := range map[string]func(*rigtest.Rig){
		"without profiles": func(*rigtest.Rig) {},
		"with a profile": func(r *rigtest.Rig) {
			r.ApplyProfile("name: any\nmode: duel\nteams: [{name: all, players: 2}]\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newLobbyRig(t, "DIRECTOR_OM_OPEN=true", "DIRECTOR_OPS_TOKENS=ada=an-operators-secret-of-tests")
			prepare(r.Rig)
			metrics := rigtest.FreeAddr(t)
			r.ServeLobby("--work", "--metrics-addr", metrics, "--grpc-addr", rigtest.FreeAddr(t),
				"--console-addr", rigtest.FreeAddr(t))
			used := func() float64 {
				_, page := clitest.Get(t, "http://"+metrics+"/metrics")
				found := cpuSeconds.FindStringSubmatch(page)
				require.Len(t, found, 2, "the CPU time of the process")
				return must.Get(strconv.ParseFloat(found[1], 64))(t)
			}
			pause(t.Context(), longestPeriod)
			began, before := time.Now(), used()
			pause(t.Context(), 20*time.Second)
			require.Less(t, (used()-before)/time.Since(began).Seconds(), 0.2, "CPUs")
		})
	}
}
