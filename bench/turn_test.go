package bench

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

type named string

func (n named) Error() string { return string(n) }
func (n named) Kind() string  { return "kind of " + string(n) }

// Pins turns of another package that are not counted, are counted with their unmeasured work, or run twice at once for
// one caller; and failures that lose their kind.
func TestTurn(t *testing.T) {
	t.Parallel()
	var taken [3]atomic.Int64
	o := Options{Scenario: "mine", URLs: []string{"nowhere"}, Callers: len(taken), Turns: 30, Duration: time.Hour}
	o.Turn = func(ctx context.Context, turn Turn) error {
		require.NoError(t, ctx.Err())
		require.EqualValues(t, 1, taken[turn.Caller()].Add(1))
		defer taken[turn.Caller()].Add(-1)
		before := time.Now()
		require.NoError(t, turn.Unmeasured(func() error { return nil }))
		require.NoError(t, turn.Timed("one", func() error { return nil }))
		if turn.Caller() == 0 {
			return turn.Timed("two", func() error { return named("trouble") })
		}
		require.Less(t, time.Since(before), time.Minute)
		return turn.Timed("two", func() error { return errors.New("nameless") })
	}
	res, err := Run(t.Context(), o)
	require.NoError(t, err)
	require.Equal(t, "mine", res.Scenario)
	require.EqualValues(t, o.Turns, res.Calls)
	require.Equal(t, res.Calls, res.Failed)
	require.Equal(t, res.Calls, res.Errors["kind of trouble"]+res.Errors["not sent"])
	require.Equal(t, []string{"one", "two"}, []string{res.Steps[0].Name, res.Steps[1].Name})
	require.Zero(t, res.Instances)
}
