package token

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// SourceOptions tune a KeySource; every zero value is usable.
type SourceOptions struct {
	Timeout    time.Duration    // of one reading; zero is 5 s
	RetryEvery time.Duration    // least pause after a failed reading, and between readings that unknown kids cause; zero is 10 s
	PlainHTTP  bool             // take http URLs of other hosts too, where the network itself is trusted
	Client     *http.Client     // nil is one of its own; redirects are not followed either way
	Now        func() time.Time // judges ages alone; nil is time.Now
	Log        *slog.Logger     // failed and changed readings; nil logs nothing
}

// KeySource is a key set that is read again as it ages. Safe for concurrent use.
//
// A set counts for as long as its reading said (a URL's Cache-Control, a few seconds for a file, forever for
// text). In the last quarter of that time a request starts the next reading and does not wait for it; after it, the
// first requests wait. A reading that fails changes nothing: the last good set stays in use, is tried again every
// RetryEvery, and nobody waits meanwhile. There is no goroutine between readings and nothing to close.
type KeySource struct {
	fetch Fetch
	opt   SourceOptions
	ahead float64 // share of its age after which a set is read anew
	state atomic.Pointer[sourceState]

	mu     sync.Mutex    // guards flight, and with it changes of state
	flight chan struct{} // closed when the reading under way ends; nil without one
}

// sourceState is immutable. A failed reading keeps the set and its age.
type sourceState struct {
	set      *KeySet // nil before the first good reading
	sum      [sha256.Size]byte
	etag     string
	maxAge   time.Duration
	loadedAt time.Time
	triedAt  time.Time
	err      error // of the last reading
}

// NewKeySource takes a JWK Set as JSON text, an https URL of one, or the path of a file. Text is parsed at once and must
// hold a usable key; the others are first read when they are needed (call Keys to do so early).
func NewKeySource(spec string, opt SourceOptions) (*KeySource, error) {
	fetch, err := fetchSpec(spec, opt)
	if err != nil {
		return nil, err
	}
	return NewKeySourceFunc(fetch, opt), nil
}

// NewKeySourceFunc takes key sets from fetch, for tests and for sets that live in memory.
func NewKeySourceFunc(fetch Fetch, opt SourceOptions) *KeySource {
	if opt.Timeout == 0 {
		opt.Timeout = 5 * time.Second
	}
	if opt.RetryEvery == 0 {
		opt.RetryEvery = 10 * time.Second
	}
	if opt.Now == nil {
		opt.Now = time.Now
	}
	if opt.Log == nil {
		opt.Log = slog.New(slog.DiscardHandler)
	}
	s := &KeySource{fetch: fetch, opt: opt, ahead: 0.75}
	s.state.Store(&sourceState{})
	return s
}

// Keys answers the current set, and ErrKeysUnavailable while there has not been one. ctx bounds the wait for a reading, not
// the reading, which others may wait for too.
func (s *KeySource) Keys(ctx context.Context) (*KeySet, error) {
	st := s.state.Load()
	switch now := s.opt.Now(); {
	case st.fresh(now, s.ahead), st.failedSince(now.Add(-s.opt.RetryEvery)):
	case st.set != nil && now.Sub(st.triedAt) < st.maxAge:
		s.read(ctx, st)
	default:
		wait(ctx, s.read(ctx, st))
		st = s.state.Load()
	}
	return st.keys()
}

// again reads the set anew because a token names a key that is not in it, at most once per RetryEvery.
func (s *KeySource) again(ctx context.Context) (*KeySet, error) {
	if st := s.state.Load(); s.opt.Now().Sub(st.triedAt) >= s.opt.RetryEvery {
		wait(ctx, s.read(ctx, st))
	}
	return s.state.Load().keys()
}

// Err is the error of the last reading, nil if it was good or there was none. The set may be usable all the same.
func (s *KeySource) Err() error { return s.state.Load().err }

func (st *sourceState) keys() (*KeySet, error) {
	switch {
	case st.set != nil:
		return st.set, nil
	case st.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKeysUnavailable, st.err)
	}
	return nil, ErrKeysUnavailable
}

// fresh also answers false for a set from the future: the clock was set back and says nothing about its age.
func (st *sourceState) fresh(now time.Time, share float64) bool {
	age := now.Sub(st.loadedAt)
	return st.set != nil && age >= 0 && float64(age) < share*float64(st.maxAge)
}

func (st *sourceState) failedSince(moment time.Time) bool {
	return st.err != nil && st.triedAt.After(moment)
}

// read starts a reading, unless one is under way or has ended since the caller saw seen; nil if so. The reading
// outlives ctx.
func (s *KeySource) read(ctx context.Context, seen *sourceState) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.flight == nil && s.state.Load() == seen {
		s.flight = make(chan struct{})
		go s.land(context.WithoutCancel(ctx), seen)
	}
	return s.flight
}

func (s *KeySource) land(ctx context.Context, old *sourceState) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	began := s.opt.Now() // the set is as old as the question, however long the answer takes
	document, err := s.fetch(ctx, old.etag)
	next := old.next(document, err, began)
	s.report(old, next)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Store(next)
	close(s.flight)
	s.flight = nil
}

// next is the state after a reading. An unchanged document keeps the very same set, by which callers see that
// nothing changed.
func (st *sourceState) next(d Document, err error, now time.Time) *sourceState {
	n := *st
	n.triedAt, n.err = now, err
	if err != nil {
		return &n
	}
	sum := sha256.Sum256(d.JSON)
	switch {
	case d.NotModified && st.set == nil:
		n.err = fmt.Errorf("key set: not modified, but there was none")
		return &n
	case d.NotModified, st.set != nil && sum == st.sum:
	default:
		set, err := ParseKeySet(d.JSON)
		if err != nil {
			n.err = err
			return &n
		}
		n.set, n.sum = set, sum
	}
	if !d.NotModified {
		n.etag = d.ETag
	}
	n.loadedAt, n.maxAge = now, d.MaxAge
	return &n
}

func (s *KeySource) report(old, next *sourceState) {
	switch {
	case next.err != nil:
		s.opt.Log.Warn("key set could not be read", slog.Any("error", next.err), slog.Bool("last_good_kept", next.set != nil))
	case next.set != old.set:
		s.opt.Log.Info("key set changed", slog.Int("keys", next.set.Len()))
	}
}

func wait(ctx context.Context, done <-chan struct{}) {
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
