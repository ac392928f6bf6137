package broken

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/internal/doctor"
	"github.com/lattice-director/director/test/rigtest"
)

// fault is a way in which an installation breaks, and what must be said about it first.
type fault struct {
	breaks func(i *installation)
	check  string // of the first finding
	state  string // of the first finding
	says   string // what doctor and Health say, a regular expression
	cause  string // in Postgres's words, a regular expression; empty: Postgres has reported nothing
	ready  int    // status of /readyz; 0: neither /readyz nor Health knows the fault
	reason string // detail of /readyz, a regular expression; empty: any
	alert  string // that fires; empty: the fault is too small for one
}

// Pins a fault that doctor, /readyz, Health or the alerts do not name first.
func TestFaultsAreNamedFirst(t *testing.T) {
	t.Parallel()
	for name, f := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstallation(t, rigtest.NewRig(t, clitest.BuildDirector(t), "DIRECTOR_LEASE_TTL=3s"))
			f.breaks(i)
			i.requireNamed(f)
		})
	}
}

// requireNamed requires that doctor, /readyz, Health and the alerts name a fault first.
func (i *installation) requireNamed(f fault) {
	t := i.T
	t.Helper()
	d := i.diagnose(func(d doctor.Diagnosis) bool { return d.Checks[0].Check == f.check && d.State == f.state })
	first := d.Checks[0]
	require.Regexp(t, f.says, first.Says)
	require.NotEmpty(t, first.Do)
	require.NotEmpty(t, first.Section)
	if f.cause == "" {
		require.Empty(t, first.Cause)
	} else {
		require.Regexp(t, f.cause, first.Cause)
	}
	if f.ready == 0 { // the fault is one of the settings of doctor alone
		return
	}
	require.Eventually(t, func() bool {
		status, detail := i.readReadiness()
		return status == f.ready && (f.reason == "" || regexpMatches(f.reason, detail))
	}, deadline, time.Second)
	require.Eventually(t, func() bool {
		check, says := firstProblemOn(i.healthPage())
		return check == f.check && regexpMatches(unanchored(f.says), says)
	}, deadline, time.Second)
	if f.alert != "" {
		i.requireAlert(f.alert)
	}
}

// A fresh installation has nothing wrong with it.
func TestAFreshInstallationIsNotAmber(t *testing.T) {
	t.Parallel()
	i := newInstallation(t, rigtest.NewRig(t, clitest.BuildDirector(t)))
	d := i.diagnose(func(d doctor.Diagnosis) bool { return d.State == doctor.OK })
	require.Empty(t, d.First)
	require.Contains(t, i.healthPage(), "No problems found.")
}
