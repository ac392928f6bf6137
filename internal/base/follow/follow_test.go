package follow_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/wait"
)

// run is one call of Do.
type run struct {
	at     time.Duration // since the beginning
	inFull bool
}

// record runs a loop on a fake clock until lasts has passed, and returns its runs. Each run takes takes.
func record(t *testing.T, lasts, takes time.Duration, l follow.Loop, fails ...int) (runs []run) {
	t.Helper()
	began := time.Now()
	ctx, cancel := context.WithTimeout(t.Context(), lasts)
	defer cancel()
	l.Do = func(ctx context.Context, inFull bool) error {
		n := len(runs)
		runs = append(runs, run{time.Since(began), inFull})
		wait.For(ctx, takes)
		if slices.Contains(fails, n) {
			return errors.New("away")
		}
		return nil
	}
	l.Run(ctx)
	return runs
}

func TestARunInFullWithoutAWakeUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := record(t, 5*time.Second, time.Millisecond, follow.Loop{Every: 2 * time.Second})
		require.Equal(t, []run{{0, true}, {2 * time.Second, true}, {4 * time.Second, true}}, runs)
	})
}

func TestAWakeUpRunsAtOnceAndPutsNothingOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		wakes := [3]chan struct{}{make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)}
		for i, wake := range wakes {
			time.AfterFunc(time.Duration(i+1)*500*time.Millisecond, func() { wait.Wake(wake) })
		}
		runs := record(t, 3*time.Second, 0, follow.Loop{Every: 2 * time.Second, Wakes: follow.Wakes{wakes[0], wakes[1], wakes[2]}})
		require.Equal(t, []run{{0, true}, {500 * time.Millisecond, false}, {time.Second, false}, {1500 * time.Millisecond, false}, {2 * time.Second, true}}, runs)
	})
}

// Pins loops that a storm of notifications kept busy, or kept from ever looking at what notifications had missed.
func TestAStormOfWakeUps(t *testing.T) {
	t.Parallel()
	storm := make(chan struct{})
	close(storm)
	synctest.Test(t, func(t *testing.T) {
		runs := record(t, 9900*time.Millisecond, 100*time.Millisecond, follow.Loop{Every: time.Second, Wakes: follow.Wakes{storm}})
		require.Len(t, runs, 50, "half of the time")
		inFull := 0
		for _, r := range runs {
			if r.inFull {
				inFull++
			}
		}
		require.Equal(t, 10, inFull)
	})
	synctest.Test(t, func(t *testing.T) {
		runs := record(t, 990*time.Millisecond, time.Millisecond, follow.Loop{Every: time.Minute, Wakes: follow.Wakes{storm}, Pause: follow.AtLeast(99 * time.Millisecond)})
		require.Len(t, runs, 10)
	})
}

func TestAFailureIsRetried(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var outcomes []error
		runs := record(t, 5*time.Second, 0, follow.Loop{
			Every: time.Minute, Retry: time.Second, Report: func(_ context.Context, err error) { outcomes = append(outcomes, err) },
		}, 0, 1)
		require.Equal(t, []run{{0, true}, {time.Second, true}, {2 * time.Second, true}}, runs)
		require.Error(t, outcomes[1])
		require.NoError(t, outcomes[2])
	})
	synctest.Test(t, func(t *testing.T) {
		runs := record(t, 5*time.Second, 0, follow.Loop{Every: 4 * time.Second}, 0)
		require.Equal(t, []run{{0, true}, {4 * time.Second, true}}, runs, "a failed run changes nothing")
	})
}

func TestTheLoopSaysWhenItIsDue(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		next := 10 * time.Millisecond
		runs := record(t, 100*time.Millisecond, 0, follow.Loop{Every: time.Minute, Until: func() time.Duration { next *= 2; return next }})
		require.Equal(t, []run{{0, true}, {20 * time.Millisecond, true}, {60 * time.Millisecond, true}}, runs)
	})
}

func TestAPanicAndATimeoutCostOneRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 9*time.Second)
		defer cancel()
		var outcomes []error
		follow.Loop{
			Every: 5 * time.Second, Timeout: time.Second, Report: func(_ context.Context, err error) { outcomes = append(outcomes, err) },
			Do: func(ctx context.Context, _ bool) error {
				if len(outcomes) == 0 {
					panic("a bug")
				}
				<-ctx.Done()
				return ctx.Err()
			},
		}.Run(ctx)
		require.Len(t, outcomes, 2)
		require.ErrorContains(t, outcomes[0], "internal error")
		require.ErrorIs(t, outcomes[1], context.DeadlineExceeded)
	})
}
