package doctor

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db/query"
)

// Pins a doctor that calls a move slow which nobody works on, or does not say first what players notice.
func TestDoctorJudgesMoves(t *testing.T) {
	t.Parallel()
	idle := query.DoctorMovesRow{Region: "us", Direction: "leaves", Step: "copying", Cell: "america",
		Idle: 2 * time.Minute}
	fenced := query.DoctorMovesRow{Region: "eu", Direction: "leaves", Step: "fenced", Cell: "asia",
		Idle: 11 * time.Second, Refused: 11 * time.Second}
	arriving := query.DoctorMovesRow{Region: "jp", Direction: "arrives", Step: "copying", Cell: "asia", Idle: time.Hour}
	require.Equal(t, OK, judgeMoves(nil).State)
	working := judgeMoves([]query.DoctorMovesRow{arriving})
	require.Equal(t, OK, working.State)
	require.Equal(t, "regions that move: jp arrives (copying, cell asia)", working.Says)
	warned := judgeMoves([]query.DoctorMovesRow{arriving, idle})
	require.Equal(t, Warn, warned.State)
	require.Contains(t, warned.Says, "no command has worked on it for 2m0s")
	failed := judgeMoves([]query.DoctorMovesRow{idle, fenced})
	require.Equal(t, Fail, failed.State)
	require.Contains(t, failed.Says, "region eu has been refused for 11s")
	require.Contains(t, failed.Do, "--undo")
}
