package token

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// KeySource is a key set that is read again before it expires. Safe for concurrent use.
//
// A set is fresh for the max-age of its reading (a URL's Cache-Control, a few seconds for a file, forever for text). In
// the last quarter of that time a call of Keys starts the next reading and does not wait for it; after that time calls
// wait. After a failed reading the last good set stays in use, the reading is retried every RetryEvery, and no call
// waits. There is no goroutine between readings, so there is nothing to close.
//
// A set without a usable key counts as a failed reading, since it is nearly always a mistake of whoever deployed the
// issuer. It may also be a withdrawal of all keys: a reading without one 15 minutes or more after the first such
// reading drops the last good set, whatever failed in between, so that an issuer that is hard to reach cannot prolong
// the life of keys that it has withdrawn. A reading with a usable key starts the time anew.
type KeySource struct {
	fetch   Fetch
	opt     SourceOptions
	staleAt float64 // share of max-age after which the set is read again
	state   atomic.Pointer[sourceState]

	mu      sync.Mutex    // guards reading and changes of state
	reading chan struct{} // closed when the current reading ends; nil without one
}

// sourceState is the result of the readings so far. It is immutable. A failed reading keeps the set and its age.
type sourceState struct {
	set      *KeySet // nil before the first good reading
	sum      [sha256.Size]byte
	etag     string
	maxAge   time.Duration
	loadedAt time.Time
	triedAt  time.Time
	err      error // of the last reading

	// emptiedAt is the time of the first reading without a usable key since the last that had one, whatever failed in
	// between; zero: there was none.
	emptiedAt time.Time
	last      SetStatus // of the last document that could be read
}

// keepEmptied is how long the last good set stays in use after its issuer has begun to publish none. Rolling back a
// deployment takes minutes.
const keepEmptied = 15 * time.Minute

// SetStatus is what the last reading of a key set found.
type SetStatus struct {
	Read    bool         // whether a document could be read at all yet
	Usable  int          // keys, of the last document
	Ignored []IgnoredKey // of the last document
	InUse   int          // keys that tokens are verified with now
	Err     error        // of the last reading; nil: it succeeded, or there was none
}

// Status returns what the last reading found. It reads nothing.
func (s *KeySource) Status() SetStatus {
	st := s.state.Load()
	status := st.last
	status.Err = st.err
	if st.set != nil {
		status.InUse = st.set.Len()
	}
	return status
}

// NewKeySource makes a source of a JWK Set as JSON text, its https URL, or the path of its file. Text is parsed at once
// and must hold a usable key. A URL or file is read at the first use; call Keys to read it early.
func NewKeySource(spec string, opt SourceOptions) (*KeySource, error) {
	fetch, err := fetchSpec(spec, opt)
	if err != nil {
		return nil, err
	}
	return NewKeySourceFunc(fetch, opt), nil
}

// NewKeySourceFunc makes a source that reads with fetch, for tests and for sets in memory.
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
	if opt.Algs == nil {
		opt.Algs = playerAlgs
	}
	s := &KeySource{fetch: fetch, opt: opt, staleAt: 0.75}
	s.state.Store(&sourceState{})
	return s
}

// Keys returns the current set, or ErrKeysUnavailable if no reading has succeeded yet. ctx bounds the wait for a
// reading and not the reading itself, which other callers may wait for.
func (s *KeySource) Keys(ctx context.Context) (*KeySet, error) {
	st, now := s.state.Load(), s.opt.Now()
	if st.isFresh(now, s.staleAt) || st.failedSince(now.Add(-s.opt.RetryEvery)) {
		return st.usableKeys()
	}
	running := s.startReading(ctx, st)
	// In the last quarter of its time the set is used while the next one is read.
	if st.set != nil && now.Sub(st.triedAt) < st.maxAge {
		return st.usableKeys()
	}
	waitUntilDone(ctx, running)
	return s.state.Load().usableKeys()
}

// readAgain reads the set again, at most once per RetryEvery, because a token has a kid that is not in it.
func (s *KeySource) readAgain(ctx context.Context) (*KeySet, error) {
	if st := s.state.Load(); s.opt.Now().Sub(st.triedAt) >= s.opt.RetryEvery {
		waitUntilDone(ctx, s.startReading(ctx, st))
	}
	return s.state.Load().usableKeys()
}

// Err returns the error of the last reading, nil if it succeeded or there was none. An earlier set may still be in use.
func (s *KeySource) Err() error { return s.state.Load().err }

func (st *sourceState) usableKeys() (*KeySet, error) {
	switch {
	case st.set != nil:
		return st.set, nil
	case st.err != nil:
		return nil, fmt.Errorf("%w: %w", ErrKeysUnavailable, st.err)
	}
	return nil, ErrKeysUnavailable
}

// isFresh reports whether the set is younger than a share of its max-age. It returns false for a negative age: the
// clock was set back, so the age is unknown.
func (st *sourceState) isFresh(now time.Time, share float64) bool {
	age := now.Sub(st.loadedAt)
	return st.set != nil && age >= 0 && float64(age) < share*float64(st.maxAge)
}

// failedSince reports whether the last reading failed, and began after a moment.
func (st *sourceState) failedSince(moment time.Time) bool {
	return st.err != nil && st.triedAt.After(moment)
}

// startReading starts a reading, unless one is running or the state is no longer seen. It returns the channel of the
// running reading, nil if there is none. The reading continues after ctx ends.
func (s *KeySource) startReading(ctx context.Context, seen *sourceState) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.reading == nil && s.state.Load() == seen {
		s.reading = make(chan struct{})
		go s.runReading(context.WithoutCancel(ctx), seen)
	}
	return s.reading
}

func (s *KeySource) runReading(ctx context.Context, old *sourceState) {
	ctx, cancel := context.WithTimeout(ctx, s.opt.Timeout)
	defer cancel()
	began := s.opt.Now() // The age counts from the request, however long the answer takes.
	document, err := s.fetch(ctx, old.etag)
	next := old.next(document, err, began, s.opt.Algs)
	s.logReading(old, next)

	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Store(next)
	close(s.reading)
	s.reading = nil
}

// next returns the state after a reading. An unchanged document keeps the same *KeySet: callers compare pointers to
// detect a change.
func (st *sourceState) next(d Document, err error, now time.Time, algs []string) *sourceState {
	n := *st
	n.triedAt, n.err = now, err
	if err != nil {
		return &n
	}
	if d.NotModified && st.set == nil {
		n.err = errors.New("key set: not modified, but there was none")
		return &n
	}
	sum := sha256.Sum256(d.JSON)
	isUnchanged := d.NotModified || st.set != nil && st.set.Len() > 0 && sum == st.sum
	if !isUnchanged {
		set, err := parseKeySet(d.JSON, algs)
		if err != nil {
			n.err = err
			return &n
		}
		n.last = SetStatus{Read: true, Usable: set.Len(), Ignored: set.ignoredKeys}
		if set.Len() == 0 {
			return n.keepingOld(set, sum)
		}
		n.set, n.sum = set, sum
	}
	n.emptiedAt = time.Time{}
	n.last.Usable, n.last.Ignored = n.set.Len(), n.set.ignoredKeys
	if !d.NotModified {
		n.etag = d.ETag
	}
	n.loadedAt, n.maxAge = now, d.MaxAge
	return &n
}

// keepingOld returns the state after a reading without a usable key: an error, after which the set is read again soon.
// The former set is dropped only after keepEmptied.
func (st *sourceState) keepingOld(set *KeySet, sum [sha256.Size]byte) *sourceState {
	n := *st
	n.err = &noUsableKey{set.ignoredKeys}
	if n.emptiedAt.IsZero() {
		n.emptiedAt = n.triedAt
	}
	if n.set != nil && n.set.Len() > 0 && n.triedAt.Sub(n.emptiedAt) >= keepEmptied {
		n.set, n.sum, n.etag = set, sum, ""
	}
	return &n
}

// noUsableKey says that a set has no key with which a token could be verified, and why.
type noUsableKey struct{ ignored []IgnoredKey }

func (e *noUsableKey) Error() string {
	return "the key set has no usable key" + ignoredText(e.ignored)
}

// ignoredText names some of the keys that are not used.
func ignoredText(ignored []IgnoredKey) string {
	const maxNamed = 5 // enough to recognize the mistake in a line of a log
	var b strings.Builder
	for i, k := range ignored[:min(len(ignored), maxNamed)] {
		b.WriteString([]string{": ", "; "}[min(i, 1)])
		b.WriteString(k.String())
	}
	if len(ignored) > maxNamed {
		fmt.Fprintf(&b, "; and %d more", len(ignored)-maxNamed)
	}
	return b.String()
}

// logReading logs changes: an outage is two lines, not one each retry.
func (s *KeySource) logReading(old, next *sourceState) {
	switch {
	case next.err != nil && (old.err == nil || old.err.Error() != next.err.Error()):
		s.opt.Log.Warn("key set could not be read", slog.Any("error", next.err),
			slog.Bool("last_good_kept", next.set != nil && next.set.Len() > 0))
	case next.err == nil && next.set != old.set && len(next.set.ignoredKeys) > 0:
		s.opt.Log.Warn("key set changed, some keys are ignored", slog.Int("keys", next.set.Len()),
			slog.Int("ignored", len(next.set.ignoredKeys)),
			slog.String("why", strings.TrimPrefix(ignoredText(next.set.ignoredKeys), ": ")))
	case next.err == nil && next.set != old.set:
		s.opt.Log.Info("key set changed", slog.Int("keys", next.set.Len()))
	case next.err == nil && old.err != nil:
		s.opt.Log.Info("key set could be read again", slog.Int("keys", next.set.Len()))
	case next.set != old.set:
		s.opt.Log.Warn("key set dropped: its issuer has published no usable key", slog.Duration("for", keepEmptied))
	}
}

func waitUntilDone(ctx context.Context, done <-chan struct{}) {
	if done == nil {
		return
	}
	select {
	case <-done:
	case <-ctx.Done():
	}
}
