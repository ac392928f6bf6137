package faults

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/cli/clitest"
	"github.com/lattice-director/director/test/rigtest"
)

const fleetToken = rigtest.FleetToken

var errNoAnswer = rigtest.ErrNoAnswer

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == netcodeGame {
		runNetcodeGame(gameProcess{})
		os.Exit(0)
	}
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

// one is rigtest.QueryOne on this package's rig.
func one[T any](r *rig, sql string, args ...any) T {
	r.T.Helper()
	return rigtest.QueryOne[T](r.Rig, sql, args...)
}

// requireNone asserts that a query, of one column of texts, returns no row.
func (r *rig) requireNone(what, sql string, args ...any) {
	r.T.Helper()
	require.Empty(r.T, one[[]string](r, "SELECT coalesce(array_agg(x.found), '{}') FROM ("+sql+") AS x(found)", args...), what)
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) { rigtest.PauseFor(ctx, d) }
