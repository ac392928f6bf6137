package token

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

// origin is what a source reads from: a document that tests change, with a count of the readings.
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

// keysNamed makes a set of one key for each kid, with a max-age of a minute.
func keysNamed(kids ...string) Document {
	var list []string
	for _, kid := range kids {
		list = append(list, fmt.Sprintf(`{%s,"kid":%q}`, edX, kid))
	}
	return Document{JSON: fmt.Appendf(nil, `{"keys":[%s]}`, strings.Join(list, ",")), MaxAge: time.Minute,
		ETag: fmt.Sprint(kids)}
}

// settle waits for the end of a reading in the background.
func settle(s *KeySource) {
	s.mu.Lock()
	reading := s.reading
	s.mu.Unlock()
	waitUntilDone(context.Background(), reading)
}

func has(t *testing.T, s *KeySource, kid string) bool {
	t.Helper()
	set := must.Get(s.Keys(context.Background()))(t)
	return len(set.byKID[kid]) == 1
}

func newSource(o *origin) (*KeySource, *clock) {
	now := newClock()
	return NewKeySourceFunc(o.fetch, SourceOptions{Now: now.Now}), now
}

// A set is used for its max-age. In the last quarter it is read again without a caller waiting, and after its max-age
// it is not used before another reading.
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
	require.True(t, has(t, s, "c"), "after its max-age a set is not used before another reading")
}

// A 304 renews the age and keeps the same set, so that cached tokens stay valid.
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
	require.Equal(t, []string{"", "[a]", "[a]"}, o.etags, "the tag is kept if a 304 does not repeat it")

	o.set(Document{JSON: o.document.JSON, MaxAge: time.Minute, ETag: "other"}, nil)
	now.Add(time.Minute)
	again, err = s.Keys(context.Background())
	require.NoError(t, err)
	require.Same(t, first, again, "the same content with another tag is no change")
}

// While the origin fails, the last good set stays in use, a reading is tried every RetryEvery, and no caller waits for
// it.
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
		require.True(t, has(t, s, "a"), "no caller waits while readings fail")
		settle(s)
		require.True(t, has(t, s, "b"), name)
		require.NoError(t, s.Err())
	}
}

// An issuer that publishes no usable key has most likely been deployed wrongly: the last good set stays in use for 15
// minutes, and goes then, since the issuer may have withdrawn all its keys. A source that never had a good set has
// none.
func TestSourceKeepsTheLastGoodSetForAWhileWhenItIsEmptied(t *testing.T) {
	t.Parallel()
	for _, emptied := range []string{`{"keys":[]}`, `{"keys":[{"kty":"new","kid":"x"}]}`} {
		o := &origin{document: keysNamed("a")}
		s, now := newSource(o)
		require.True(t, has(t, s, "a"))
		o.set(Document{JSON: []byte(emptied), MaxAge: time.Minute}, nil)
		now.Add(time.Minute)
		require.True(t, has(t, s, "a"))
		settle(s)
		require.ErrorContains(t, s.Err(), "no usable key")
		status := s.Status()
		require.Equal(t, []int{0, 1}, []int{status.Usable, status.InUse}, "what it published, and what is in use")
		now.Add(15*time.Minute - time.Second)
		require.True(t, has(t, s, "a"))
		settle(s)
		require.True(t, has(t, s, "a"))
		for range 3 {
			now.Add(11 * time.Second)
			has(t, s, "a")
			settle(s)
			require.Error(t, s.Err())
		}
		require.False(t, has(t, s, "a"))
		o.set(keysNamed("b"), nil)
		now.Add(11 * time.Second)
		has(t, s, "b")
		settle(s)
		require.True(t, has(t, s, "b"))
		require.NoError(t, s.Err())

		fresh, _ := newSource(&origin{document: Document{JSON: []byte(emptied), MaxAge: time.Minute}})
		_, err := fresh.Keys(context.Background())
		require.ErrorIs(t, err, ErrKeysUnavailable)
	}
}

// After a failure and a long time without calls the next call waits for a reading, because a key may have been
// withdrawn.
func TestSourceReadsAfterALongPause(t *testing.T) {
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

// Before the first good reading Keys returns ErrKeysUnavailable, and the origin is not read for every call.
func TestSourceWithoutAGoodReading(t *testing.T) {
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
	require.ErrorIs(t, err, ErrKeysUnavailable, "a 304 without an earlier set")
}

// After the clock was set back, the age is unknown and the set is read again.
func TestSourceReadsAgainAfterTheClockWasSetBack(t *testing.T) {
	t.Parallel()
	o := &origin{document: keysNamed("a")}
	s, now := newSource(o)
	require.True(t, has(t, s, "a"))
	now.Add(-time.Hour)
	require.True(t, has(t, s, "a"))
	settle(s)
	require.Equal(t, 2, o.count())
}
