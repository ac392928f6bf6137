package token

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// A key that was published after the last reading is found by reading the set again. A stream of invented kids causes
// one reading per RetryEvery.
func TestUnknownKidCausesOneReadingPerRetryEvery(t *testing.T) {
	t.Parallel()
	sealer := newSealer(t)
	a, b := mint(t, sealer, AlgEdDSA), mint(t, sealer, AlgEdDSA)
	b.SignFrom = b.SignFrom.Add(time.Hour)
	old, both := newRing(t, sealer, a), newRing(t, sealer, a, b)
	publish := func(r *Ring) Document {
		document, etag := r.JWKS(start)
		return Document{JSON: document, ETag: etag, MaxAge: time.Hour}
	}
	o := &origin{document: publish(old)}
	s, now := newSource(o)
	verifier := NewSessionVerifier(s, 0)
	verify := func(r *Ring) error {
		raw, err := r.Sign(start, someClaims())
		require.NoError(t, err)
		_, err = verifier.Verify(context.Background(), raw, start)
		return err
	}
	require.NoError(t, verify(old))
	o.set(publish(both), nil)
	for range 10 {
		require.ErrorIs(t, verify(both), UnknownKey, "the set was read just before")
	}
	require.Equal(t, 1, o.count())
	now.Add(10 * time.Second)
	require.NoError(t, verify(both))
	require.Equal(t, 2, o.count())

	other := newRing(t, sealer, mint(t, sealer, AlgEdDSA))
	for range 100 {
		now.Add(time.Second)
		require.ErrorIs(t, verify(other), UnknownKey)
	}
	require.Equal(t, 12, o.count())
	o.set(Document{}, errors.New("away"))
	now.Add(10 * time.Second)
	require.ErrorIs(t, verify(other), UnknownKey)
	require.NoError(t, verify(both), "the last good set stays after a failed reading")
}

// Concurrent callers share one reading.
func TestConcurrentCallersShareAReading(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var reads atomic.Int32
		gate := make(chan struct{})
		s := NewKeySourceFunc(func(context.Context, string) (Document, error) {
			reads.Add(1)
			<-gate
			return keysNamed("a"), nil
		}, SourceOptions{})
		var good atomic.Int32
		for range 50 {
			go func() {
				if set, err := s.Keys(context.Background()); err == nil && set.Len() == 1 {
					good.Add(1)
				}
			}()
		}
		synctest.Wait()
		require.EqualValues(t, 1, reads.Load())
		close(gate)
		synctest.Wait()
		require.EqualValues(t, 50, good.Load())
		require.EqualValues(t, 1, reads.Load())
	})
}

// A caller whose set was replaced in the meantime does not start another reading.
func TestSlowCallerStartsNoSecondReading(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, _ := newSource(o)
	seen := s.state.Load()
	require.True(t, has(t, s, "a"))
	require.Nil(t, s.startReading(context.Background(), seen))
	require.Equal(t, 1, o.count())
}

// A caller whose context ends does not end the reading that others wait for. A reading that hangs ends by its timeout.
func TestSourceBoundsEveryWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := NewKeySourceFunc(func(ctx context.Context, _ string) (Document, error) {
			<-ctx.Done()
			return Document{}, ctx.Err()
		}, SourceOptions{Timeout: 5 * time.Second})
		began := time.Now()
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_, err := s.Keys(ctx)
		require.ErrorIs(t, err, ErrKeysUnavailable)
		require.Equal(t, time.Second, time.Since(began))
		_, err = s.Keys(context.Background())
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, 5*time.Second, time.Since(began), "the second caller shared the first one's reading")
	})
}

// The age of a set counts from the request: a slow answer may describe the set as it was then.
func TestSourceCountsAgeFromTheRequest(t *testing.T) {
	t.Parallel()
	now := newClock()
	reads := 0
	s := NewKeySourceFunc(func(context.Context, string) (Document, error) {
		reads++
		now.Add(4 * time.Second)
		return keysNamed("a"), nil
	}, SourceOptions{Now: now.Now})
	s.staleAt = 1
	require.True(t, has(t, s, "a"))
	now.Set(start.Add(time.Minute - 1))
	require.True(t, has(t, s, "a"))
	require.Equal(t, 1, reads)
	now.Set(start.Add(time.Minute))
	require.True(t, has(t, s, "a"))
	require.Equal(t, 2, reads)
}

func TestSourceLogsFailuresAndChanges(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	o := &origin{document: keysNamed("a")}
	now := newClock()
	s := NewKeySourceFunc(o.fetch, SourceOptions{Now: now.Now, Log: slog.New(slog.NewTextHandler(&log, nil))})
	require.True(t, has(t, s, "a"))
	require.Contains(t, log.String(), `msg="key set changed" keys=1`)
	o.set(Document{}, errors.New("away"))
	now.Add(time.Minute)
	require.True(t, has(t, s, "a"))
	require.Contains(t, log.String(), `msg="key set could not be read" error=away last_good_kept=true`)
}
