package worker

import (
	"context"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/storetest"
)

func TestLoginQueuesAreTurned(t *testing.T) {
	t.Parallel()
	d := storetest.New(t)
	admit, err := newAdmitter(d.Store, prometheus.NewRegistry())
	require.NoError(t, err)
	_, err = admit.runOnce(t.Context())
	require.NoError(t, err)
	require.False(t, admit.lookedAt.IsZero(), "no valve limits")

	rate, share := 2.0, 0.0
	_, err = d.As("").SetValve(t.Context(), "launch", db.ValveSettings{Rate: &rate, StaffShare: &share})
	require.NoError(t, err)
	d.Exec("UPDATE login_queues SET refilled_at = clock_timestamp() + interval '1 hour'")
	_, err = d.LoginLines(t.Context())
	require.NoError(t, err)
	for _, player := range []string{"a", "b", "c"} {
		_, err = d.EnterLoginQueue(t.Context(), db.LoginRequest{Player: player})
		require.NoError(t, err)
	}
	d.Exec("UPDATE login_queues SET tokens = 2")
	run(t, admit)
	require.Equal(t, []string{"a", "b"},
		storetest.Values[string](d, "SELECT sub FROM admissions WHERE admitted_at IS NOT NULL ORDER BY place"))
	require.Equal(t, []int64{3}, storetest.Values[int64](d, "SELECT unnest(marks) FROM login_queue_marks"))
	run(t, admit)
	require.InDelta(t, 1, testutil.ToFloat64(admit.waitingGauge), 0)
	require.InDelta(t, 2, testutil.ToFloat64(admit.playersGauge), 0)

	sweep := &admissionSweeper{store: d.Store}
	done, err := sweep.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{}, done)
	d.Exec("UPDATE admissions SET expires_at = clock_timestamp() - interval '1 second' WHERE sub <> 'a'")
	d.Exec(`INSERT INTO ticket_players (region, sub, profile, ticket_id, request_hash) VALUES ('global', 'd', '', 't', '')`)
	done, err = sweep.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"admissions_ended": 2, "players_adopted": 1}, done)
	require.Equal(t, []string{"a", "d"},
		storetest.Values[string](d, "SELECT sub FROM admissions WHERE admitted_at IS NOT NULL ORDER BY 1"))

	_, err = d.As("").OpenValve(t.Context(), "launch")
	require.NoError(t, err)
	done, err = sweep.runOnce(t.Context())
	require.NoError(t, err)
	require.Equal(t, Done{"admissions_ended": 2}, done, "an open valve keeps no rows")
	run(t, admit)
	require.Zero(t, testutil.CollectAndCount(admit.waitingGauge))
}

// run turns the lines as if the last turn was long ago.
func run(t *testing.T, admit *admitter) {
	t.Helper()
	admit.lookedAt, admit.markedAt = admit.lookedAt.Add(-admitIdle), admit.markedAt.Add(-markEvery)
	must.Get(admit.runOnce(context.WithoutCancel(t.Context())))(t)
}

// Players see how long they wait once enough others were admitted, also by a replica that knows nothing but the rows.
func TestLoginQueuesHaveEstimates(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "TestEstimatesOfValvesAreCalibrated")
	d := storetest.New(t)
	admit, err := newAdmitter(d.Store, nil)
	require.NoError(t, err)
	rate, share := 20.0, 0.0
	_, err = d.As("").SetValve(t.Context(), "launch", db.ValveSettings{Rate: &rate, StaffShare: &share})
	require.NoError(t, err)
	joined := 0
	joinSome := func(n int) {
		d.Exec(`SELECT join_login_queue('launch', array_agg('p' || n), array_agg(false), 0) FROM generate_series($1::int, $2::int) n`,
			joined+1, joined+n)
		joined += n
	}
	joinSome(20)
	// The sample has two players a second, and an estimate needs twenty. Then those must be admitted who joined before
	// the first one that had an estimate: about a minute in all, on a machine without other work.
	for began := time.Now(); time.Since(began) < 3*time.Minute; {
		joinSome(2)
		d.Exec("UPDATE login_queues SET tokens = 1, refilled_at = clock_timestamp()")
		run(t, admit)
		if storetest.Values[int32](d, "SELECT cardinality(estimate_upto) FROM login_queue_marks")[0] > 0 &&
			storetest.Values[int64](d, "SELECT waits FROM ops.valve_estimates")[0] > 0 {
			break
		}
	}
	_, err = d.LoginLines(t.Context())
	require.NoError(t, err)
	login, err := d.EnterLoginQueue(t.Context(), db.LoginRequest{Player: "alice"})
	require.NoError(t, err)
	require.NotNil(t, login.WaitingPlace)
	e := login.WaitingPlace.Estimate
	require.True(t, e.IsCompared)
	require.Positive(t, e.P50)
	require.GreaterOrEqual(t, e.P90, e.P50)
	require.Positive(t, storetest.Values[float64](d, "SELECT p50 FROM ops.valve_estimates")[0])
	require.Positive(t, storetest.Values[int64](d, "SELECT waits FROM ops.valve_estimates")[0])

	other, err := newAdmitter(d.Store, nil)
	require.NoError(t, err)
	run(t, other)
	require.Equal(t, []string{admit.estimates.workerID.String()},
		storetest.Values[string](d, "SELECT estimator::text FROM login_queue_marks"), "one worker puts them")
	d.Exec("UPDATE login_queue_marks SET estimated_at = estimated_at - interval '11 seconds'")
	run(t, other)
	require.Equal(t, []string{other.estimates.workerID.String()},
		storetest.Values[string](d, "SELECT estimator::text FROM login_queue_marks"))
	require.NotEmpty(t, storetest.Values[int32](d, "SELECT unnest(estimate_upto) FROM login_queue_marks"),
		"those of the former one stay")
	d.Exec("UPDATE login_queue_marks SET estimated_at = estimated_at - interval '31 seconds'")
	_, err = d.LoginLines(t.Context())
	require.NoError(t, err)
	login, err = d.RenewLogin(t.Context(), db.LoginRequest{Player: "alice"})
	require.NoError(t, err)
	require.False(t, login.WaitingPlace.Estimate.IsCompared, "no worker runs")
}
