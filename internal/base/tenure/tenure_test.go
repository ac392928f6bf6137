package tenure_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/tenure"
	"github.com/lattice-director/director/internal/base/wait"
)

var (
	errAway       = errors.New("away")
	errSuperseded = errors.New("superseded")
)

func isSuperseded(err error) bool { return errors.Is(err, errSuperseded) }

// hold holds a lease whose renewals have these outcomes, and then succeed. It returns when it was renewed.
func hold(ctx context.Context, l tenure.Lease, outcomes ...error) (at []time.Duration, lost error) {
	began := time.Now()
	l.Renew = func(context.Context) error {
		n := len(at)
		at = append(at, time.Since(began))
		if n < len(outcomes) {
			return outcomes[n]
		}
		return nil
	}
	return at, l.Hold(ctx)
}

func TestALeaseIsRenewedUntilItsContextEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3500*time.Millisecond)
		defer cancel()
		var reported []error
		l := tenure.Lease{Every: time.Second, Lasts: 2500 * time.Millisecond, IsLost: isSuperseded}
		l.Report = func(_ context.Context, err error) { reported = append(reported, err) }
		began, renewals := time.Now(), 0
		l.Renew = func(context.Context) error {
			renewals++
			if renewals%2 == 1 {
				return errAway // one failure costs nothing
			}
			return nil
		}
		require.ErrorIs(t, l.Hold(ctx), context.DeadlineExceeded)
		require.Equal(t, 3500*time.Millisecond, time.Since(began))
		require.Equal(t, []error{errAway, nil, errAway}, reported)
	})
}

func TestALeaseIsLostWhenOthersEndIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, lost := hold(t.Context(), tenure.Lease{Every: time.Second, IsLost: isSuperseded}, nil, errAway, errAway, fmt.Errorf("renew: %w", errSuperseded))
		require.ErrorIs(t, lost, errSuperseded)
	})
}

// Pins a keeper that went on after its lease had expired by its own clock.
func TestALeaseIsLostWhenItCannotBeRenewedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		_, lost := hold(t.Context(), tenure.Lease{Every: time.Second, Lasts: 4 * time.Second}, nil, errAway, errAway, errAway, errAway)
		require.ErrorIs(t, lost, errAway)
		require.Equal(t, 5*time.Second, time.Since(began), "four seconds after the last renewal")
	})
}

// Pins a keeper that counts from the answer of a slow renewal, so that others have the lease while it believes in it.
func TestALeaseCountsFromTheCallThatRenewedIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		began, renewals := time.Now(), 0
		l := tenure.Lease{Every: time.Second, Lasts: 4 * time.Second}
		l.Renew = func(context.Context) error {
			if renewals++; renewals > 1 {
				return errAway
			}
			wait.For(t.Context(), 1500*time.Millisecond)
			return nil
		}
		require.ErrorIs(t, l.Hold(t.Context()), errAway)
		require.Equal(t, 5500*time.Millisecond, time.Since(began), "the first try at least four seconds after the call began")
	})
}

func TestARenewalTimesOut(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := tenure.Lease{Every: time.Second, Timeout: time.Second, Lasts: 2 * time.Second}
		l.Renew = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		require.ErrorIs(t, l.Hold(t.Context()), context.DeadlineExceeded)
		require.NoError(t, t.Context().Err())
	})
}

// series is a series that notes its steps. Hold returns what its channel says.
func series(t *testing.T, steps *[]string, held chan bool, begin ...error) (s tenure.Series[int], stop func()) {
	t.Helper()
	note := func(format string, args ...any) { *steps = append(*steps, fmt.Sprintf(format, args...)) }
	stopping, n := make(chan struct{}), 0
	return tenure.Series[int]{
		Begin: func(context.Context) (int, error) {
			if len(begin) > 0 {
				err := begin[0]
				begin = begin[1:]
				return 0, err
			}
			n++
			note("begin %d", n)
			return n, nil
		},
		Hold: func(ctx context.Context, _ int) bool {
			select {
			case superseded := <-held:
				return superseded
			case <-stopping:
			case <-ctx.Done():
			}
			return false
		},
		Fence: func(t int) { note("fence %d", t) },
		End:   func(_ context.Context, t int) { note("end %d", t) },
		Retry: func() time.Duration { return time.Second }, Stopping: stopping, Report: func(context.Context, error) {},
	}, func() { close(stopping) }
}

func TestATenureThatWasSupersededIsFencedAndTheNextBegins(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		held := make(chan bool, 2)
		s, stop := series(t, &steps, held, errAway, errAway)
		began := time.Now()
		held <- true
		time.AfterFunc(time.Minute, stop)
		s.Run(t.Context())
		require.Equal(t, []string{"begin 1", "fence 1", "begin 2", "end 2"}, steps)
		require.Equal(t, time.Minute, time.Since(began), "it waits for the last tenure")
	})
}

func TestASeriesEndsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		s, _ := series(t, &steps, make(chan bool))
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		s.Run(ctx)
		require.Equal(t, []string{"begin 1", "end 1"}, steps)
	})
}

// Pins a replica that waited out the pause after a failed begin before it noticed that it was to stop.
func TestASeriesThatNeverBeganStopsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var steps []string
		s, stop := series(t, &steps, make(chan bool), errAway, errAway)
		began := time.Now()
		time.AfterFunc(100*time.Millisecond, stop)
		s.Run(t.Context())
		require.Empty(t, steps)
		require.Equal(t, 100*time.Millisecond, time.Since(began))
	})
}
