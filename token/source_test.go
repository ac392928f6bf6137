package token

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// origin is where a source reads from: a document that tests change, and a count of readings.
type origin struct {
	mu       sync.Mutex
	document Document
	err      error
	reads    int
	etags    []string
}

func (o *origin) fetch(_ context.Context, etag string) (Document, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.reads++
	o.etags = append(o.etags, etag)
	if o.err == nil && etag != "" && etag == o.document.ETag {
		return Document{NotModified: true, MaxAge: o.document.MaxAge}, nil
	}
	return o.document, o.err
}

func (o *origin) set(document Document, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.document, o.err = document, err
}

func (o *origin) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reads
}

// keysNamed is a set of one key for each kid, counting for a minute.
func keysNamed(kids ...string) Document {
	var list []string
	for _, kid := range kids {
		list = append(list, fmt.Sprintf(`{%s,"kid":%q}`, edX, kid))
	}
	return Document{JSON: fmt.Appendf(nil, `{"keys":[%s]}`, join(list)), MaxAge: time.Minute, ETag: fmt.Sprint(kids)}
}

func join(list []string) (joined string) {
	for i, s := range list {
		if i > 0 {
			joined += ","
		}
		joined += s
	}
	return joined
}

// settle waits for a reading in the background.
func settle(s *KeySource) {
	s.mu.Lock()
	flight := s.flight
	s.mu.Unlock()
	wait(context.Background(), flight)
}

func has(t *testing.T, s *KeySource, kid string) bool {
	t.Helper()
	set, err := s.Keys(context.Background())
	require.NoError(t, err)
	return len(set.byKID[kid]) == 1
}

func newSource(o *origin) (*KeySource, *clock) {
	now := newClock()
	return NewKeySourceFunc(o.fetch, SourceOptions{Now: now.Now}), now
}

// A set is used for its max-age, read anew in the last quarter without anybody waiting, and never beyond it unread.
func TestSourceKeepsASetForItsMaxAge(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, now := newSource(o)
	require.True(t, has(t, s, "a"))
	now.Add(45*time.Second - 1)
	require.True(t, has(t, s, "a"))
	require.Equal(t, 1, o.count())

	o.set(keysNamed("b"), nil)
	now.Add(1)
	require.True(t, has(t, s, "a"), "the request that starts the reading does not wait for it")
	settle(s)
	require.True(t, has(t, s, "b"))
	require.Equal(t, 2, o.count())

	o.set(keysNamed("c"), nil)
	now.Add(time.Minute)
	require.True(t, has(t, s, "c"), "past its age a set is not used before it was asked for again")
}

// 304 renews the age and keeps the very set, so that what was verified with it stays remembered.
func TestSourceRenewsByETag(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, now := newSource(o)
	first, err := s.Keys(context.Background())
	require.NoError(t, err)
	now.Add(time.Minute)
	again, err := s.Keys(context.Background())
	require.NoError(t, err)
	require.Same(t, first, again)
	require.Equal(t, []string{"", "[a]"}, o.etags)
	now.Add(44 * time.Second)
	require.True(t, has(t, s, "a"))
	require.Equal(t, 2, o.count(), "the 304 counts as a reading")
	now.Add(time.Minute)
	require.True(t, has(t, s, "a"))
	require.Equal(t, []string{"", "[a]", "[a]"}, o.etags, "a 304 need not repeat the tag")

	o.set(Document{JSON: o.document.JSON, MaxAge: time.Minute, ETag: "other"}, nil)
	now.Add(time.Minute)
	again, err = s.Keys(context.Background())
	require.NoError(t, err)
	require.Same(t, first, again, "the same content under another tag is no change")
}

// With the director away the last good set stays, is asked for again every RetryEvery, and no request waits for that.
func TestSourceKeepsTheLastGoodSet(t *testing.T) {
	t.Parallel()
	for name, trouble := range map[string]struct {
		document Document
		err      error
	}{
		"away":         {err: errors.New("connection refused")},
		"an HTML page": {document: Document{JSON: []byte("<html>")}},
		"a lone error": {document: Document{JSON: []byte(`{"error":"x"}`)}},
	} {
		o := &origin{document: keysNamed("a")}
		s, now := newSource(o)
		require.True(t, has(t, s, "a"))
		o.set(trouble.document, trouble.err)
		now.Add(time.Minute)
		require.True(t, has(t, s, "a"), name)
		require.Error(t, s.Err())
		require.Equal(t, 2, o.count())
		for range 3 {
			now.Add(3 * time.Second)
			require.True(t, has(t, s, "a"))
		}
		require.Equal(t, 2, o.count(), "not before RetryEvery")
		now.Add(time.Second)
		require.True(t, has(t, s, "a"))
		settle(s)
		require.Equal(t, 3, o.count())

		o.set(keysNamed("b"), nil)
		now.Add(10 * time.Second)
		require.True(t, has(t, s, "a"), "nobody waits while the origin is known to be in trouble")
		settle(s)
		require.True(t, has(t, s, "b"), name)
		require.NoError(t, s.Err())
	}
}

// After a failure and a long silence the next request waits for a reading: a key may have been withdrawn meanwhile.
func TestSourceAsksAfterALongSilence(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, now := newSource(o)
	require.True(t, has(t, s, "a"))
	o.set(Document{}, errors.New("away"))
	now.Add(time.Minute)
	require.True(t, has(t, s, "a"))
	o.set(keysNamed("b"), nil)
	now.Add(time.Hour)
	require.False(t, has(t, s, "a"))
}

// Without any set there is an error that is not the caller's fault, and the origin is not asked for every request.
func TestSourceThatNeverAnswered(t *testing.T) {
	t.Parallel()
	o := &origin{err: errors.New("no such host")}
	s, now := newSource(o)
	for range 5 {
		_, err := s.Keys(context.Background())
		require.ErrorIs(t, err, ErrKeysUnavailable)
		require.ErrorIs(t, err, o.err)
	}
	require.Equal(t, 1, o.count())
	o.set(keysNamed("a"), nil)
	now.Add(10 * time.Second)
	require.True(t, has(t, s, "a"))

	broken, _ := newSource(&origin{document: Document{NotModified: true}})
	_, err := broken.Keys(context.Background())
	require.ErrorIs(t, err, ErrKeysUnavailable, "a 304 to nothing")
}

// A clock that was set back makes the age unknown: the set is read anew.
func TestSourceReadsAnewWhenTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, now := newSource(o)
	require.True(t, has(t, s, "a"))
	now.Add(-time.Hour)
	require.True(t, has(t, s, "a"))
	settle(s)
	require.Equal(t, 2, o.count())
}

// A key published after the last reading is found by asking again; a stream of made-up kids costs one reading per
// RetryEvery.
func TestUnknownKidIsAskedForOnceInAWhile(t *testing.T) {
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
		require.ErrorIs(t, verify(both), UnknownKey, "read a moment ago")
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
	require.NoError(t, verify(both), "the last good set outlives a failed question")
}

// Any number of requests share one reading.
func TestSourceReadsOnceForAll(t *testing.T) {
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

// A caller that judged a set which was replaced meanwhile does not have it read once more.
func TestSourceReadsOnceForTheSlowToo(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, _ := newSource(o)
	seen := s.state.Load()
	require.True(t, has(t, s, "a"))
	require.Nil(t, s.read(context.Background(), seen))
	require.Equal(t, 1, o.count())
}

// A caller that gives up does not end the reading others wait for, and a reading that hangs ends by itself.
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

// A slow answer describes the set as it was when it was asked for.
func TestSourceCountsAgeFromTheQuestion(t *testing.T) {
	t.Parallel()
	now := newClock()
	reads := 0
	s := NewKeySourceFunc(func(context.Context, string) (Document, error) {
		reads++
		now.Add(4 * time.Second)
		return keysNamed("a"), nil
	}, SourceOptions{Now: now.Now})
	s.ahead = 1
	require.True(t, has(t, s, "a"))
	now.Set(start.Add(time.Minute - 1))
	require.True(t, has(t, s, "a"))
	require.Equal(t, 1, reads)
	now.Set(start.Add(time.Minute))
	require.True(t, has(t, s, "a"))
	require.Equal(t, 2, reads)
}

func TestSourceLogsTroubleAndChange(t *testing.T) {
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
