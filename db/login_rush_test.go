package db_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
)

// A launch in simulated time, on the statements that replicas and workers use: arrivals grow from none to 50,000 a
// second within five seconds and stay there for one, a valve admits 2,000 a second, and the line holds 100,000 players.
// A step of 0.1 s is a batch, of at most 5,000 players. The part that runs with all tests has a fiftieth of the players.
func TestALaunchInSimulatedTime(t *testing.T) {
	t.Parallel()
	scale := longtest.Pick[int32](50, 1)
	const rate, most, step = 2000, 100_000, 0.1
	b := setup(t)
	b.valve("launch", float64(rate/scale), noStaff,
		func(s *db.ValveSettings) { line := most / scale; s.MaxWaiting = &line })
	arrived, steps := 0, 0
	var turns time.Duration // what the turns took for real, in which the valve refills, too
	turn := func(arrivals int) {
		began := time.Now()
		defer func() { turns += time.Since(began) }()
		b.Exec("UPDATE login_queues SET refilled_at = clock_timestamp() - make_interval(secs => $1)", step)
		b.Exec(`SELECT join_login_queue('launch', coalesce(array_agg('p' || n), '{}'), coalesce(array_agg(false), '{}'), 0)
			FROM generate_series($1::int, $2::int) n`, arrived+1, arrived+arrivals)
		arrived, steps = arrived+arrivals, steps+1
		if steps%10 == 0 { // autovacuum is off in tests, and plans of an empty table read all of the line
			b.Exec("VACUUM ANALYZE admissions, login_queues")
		}
	}
	for i := range 60 {
		turn(min(i*100, 5000) / int(scale))
		if i%10 == 9 {
			b.requirePositions()
		}
	}
	require.InDelta(t, int(most/scale), one[int](b, "SELECT waiting FROM login_queues"),
		max(0.1*rate, 0.01*most/float64(scale)), "the line is full, but for those whom the last turn admitted")
	refused := arrived - one[int](b, "SELECT count(*) FROM admissions")
	require.Positive(t, refused)
	for one[int](b, "SELECT waiting FROM login_queues") > 0 {
		turn(0)
		if steps%100 == 0 {
			b.requirePositions()
		}
	}
	require.Equal(t, arrived-refused, one[int](b, "SELECT players FROM login_queues"))
	atRate := float64(arrived-refused) / float64(rate/scale) / step
	require.LessOrEqual(t, float64(steps), 1.1*atRate+15, "slower than the valve")
	require.GreaterOrEqual(t, float64(steps)+turns.Seconds()/step, 0.9*atRate-15, "faster than the valve")
	require.Zero(t, one[int](b, `SELECT count(*) FROM (SELECT admitted_at, max(admitted_at) OVER (ORDER BY place ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before
		FROM admissions) a WHERE a.admitted_at < a.before`), "somebody was overtaken")
	b.requireCounters()
	t.Logf("%d players arrived in 6 s, %d found the line full; the last was admitted after %.1f s", arrived, refused,
		float64(steps)*step)
}

// requirePositions compares the positions that some players see with the line.
func (b *bundle) requirePositions() {
	b.t.Helper()
	require.NoError(b.t, b.MarkLine(b.t.Context(), "launch"))
	b.heedValves()
	rows := b.Rows(`SELECT sub, n, waiting FROM (SELECT sub, row_number() OVER (ORDER BY place) AS n, count(*) OVER () AS waiting FROM admissions WHERE admitted_at IS NULL) w
		WHERE n IN (1, 2, waiting / 2, waiting) ORDER BY n`)
	for _, row := range rows {
		var player string
		var position, waiting int
		must.Get(fmt.Sscanf(strings.ReplaceAll(row, "|", " "), "%s %d %d", &player, &position, &waiting))(b.t)
		seen := b.enter(player).WaitingPlace
		require.GreaterOrEqual(b.t, seen.Position, position)
		require.LessOrEqual(b.t, seen.Position, position+waiting/512)
	}
}
