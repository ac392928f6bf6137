package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Pins turns of another package that are not counted, are counted with their unmeasured work, or run twice at once for
// one caller; and failures that lose their kind.
func TestTurn(t *testing.T) {
	t.Parallel()
	var taken [3]atomic.Int64
	o := Options{URLs: []string{"nowhere"}, Load: Load{Callers: len(taken), Turns: 30, Instances: 7},
		Duration: time.Hour}
	turn := func(ctx context.Context, turn *Caller) error {
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 1, taken[turn.Number].Add(1))
		defer taken[turn.Number].Add(-1)
		before := time.Now()
		require.NoError(t, turn.Unmeasured(func() error { return nil }))
		require.NoError(t, turn.Timed("one", func() error { return nil }))
		if turn.Number == 0 {
			return turn.Timed("two", func() error { return &Failure{"trouble", nil} })
		}
		require.Less(t, time.Since(before), time.Minute)
		return turn.Timed("two", func() error { return errors.New("nameless") })
	}
	ends := []string{}
	o.Scenario = Scenario{Name: "mine", Begin: func(_ context.Context, job *Job) (TurnFunc, error) {
		job.OnEnd(func(context.Context) error { ends = append(ends, "first"); job.Values["x"] = 5; return nil })
		job.OnEnd(func(context.Context) error { ends = append(ends, "second"); return nil })
		return turn, nil
	}}
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, "mine", res.Scenario)
	require.EqualValues(t, o.Load.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, res.Calls, res.Errors["trouble"]+res.Errors["not sent"])
	require.Equal(t, []string{"one", "two"}, []string{res.Steps[0].Step, res.Steps[1].Step})
	require.Zero(t, res.Instances, "the scenario has none")
	require.Equal(t, []string{"second", "first"}, ends)
	require.Equal(t, map[string]float64{"x": 5}, res.Values)

	o.Scenario.Begin = func(_ context.Context, job *Job) (TurnFunc, error) {
		job.OnEnd(func(context.Context) error { return errors.New("not ended") })
		return nil, errors.New("not begun")
	}
	_, err = Run(t.Context(), o)
	require.EqualError(t, err, "not begun\nnot ended")
}
