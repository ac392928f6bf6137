package faults

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/rigtest"
)

const fleetToken = rigtest.FleetToken

var errNoAnswer = rigtest.ErrNoAnswer

func TestMain(m *testing.M) {
	exitAsGame()
	code := m.Run()
	clitest.RemoveDirector()
	os.Exit(code)
}

type (
	fields  = rigtest.Fields
	process = rigtest.Process
)

// rig is an installation, with the faults of this package.
type rig struct{ *rigtest.Rig }

func newRig(t *testing.T, settings ...string) *rig {
	t.Helper()
	return &rig{rigtest.NewRig(t, clitest.BuildDirector(t), settings...)}
}

func one[T any](r *rig, sql string, args ...any) T {
	r.T.Helper()
	return rigtest.QueryOne[T](r.Rig, sql, args...)
}

func pause(ctx context.Context, d time.Duration) { rigtest.PauseFor(ctx, d) }
