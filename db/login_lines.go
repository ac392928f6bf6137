package db

import (
	"context"
	"sync/atomic"
	"time"

	"golang.org/x/sync/singleflight"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// How old a replica's copy of the valves may be. A call that finds the copy older than linesFresh uses it, and starts a
// renewal. A call that finds it older than linesUsable, after a pause without calls, waits for the renewal.
const (
	linesFresh  = 500 * time.Millisecond
	linesUsable = 2 * time.Second
)

// loginLines is a replica's copy of all valves with their lines. A change by an operator takes effect within
// linesUsable. Safe for concurrent use; reading the copy takes no lock.
type loginLines struct {
	latestReading atomic.Pointer[linesReading]
	isRenewing    atomic.Bool        // a call has started a renewal for which it does not wait
	sharedReading singleflight.Group // one renewal for all callers that wait for it
}

// linesReading is what one statement read. It never changes.
type linesReading struct {
	lines  []*LoginLine // by name
	readAt time.Time
}

// DecidingLine returns the line of the valve that decides about a region and a client build, "" for an unknown one;
// nil: every player enters. Errors: Unavailable.
func (s *Store) DecidingLine(ctx context.Context, region, build string) (*LoginLine, error) {
	r, err := s.currentLines(ctx)
	if err != nil || len(r.lines) == 0 {
		return nil, err
	}
	if line := r.deciding(region, build); line.row.Mode != ValveOpen {
		return line, nil
	}
	return nil, nil //nolint:nilnil // no player is held up: the usual case, and no error
}

// currentLines returns the copy, and renews a copy that is too old: see linesFresh.
func (s *Store) currentLines(ctx context.Context) (*linesReading, error) {
	r := s.loginLines.latestReading.Load()
	if r != nil {
		switch age := time.Since(r.readAt); {
		case age < linesFresh:
			return r, nil
		case age < linesUsable:
			s.startRenewal(ctx)
			return r, nil
		}
	}
	return s.renewLines(ctx, time.Now().Add(-linesFresh))
}

// startRenewal starts a renewal of the copy, unless one runs, and does not wait for it.
func (s *Store) startRenewal(ctx context.Context) {
	if !s.loginLines.isRenewing.CompareAndSwap(false, true) {
		return
	}
	go func() {
		defer s.loginLines.isRenewing.Store(false)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linesUsable)
		defer cancel()
		_ = s.readLines(ctx) // the next caller tries again
	}()
}

// renewLines returns the valves as they were after a moment. Callers share a reading, which none of them ends by
// leaving. Errors: Unavailable.
func (s *Store) renewLines(ctx context.Context, after time.Time) (*linesReading, error) {
	for {
		// Another caller may have read the valves meanwhile.
		if r := s.loginLines.latestReading.Load(); r != nil && r.readAt.After(after) {
			return r, nil
		}
		shared := s.loginLines.sharedReading.DoChan("", func() (any, error) {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), linesUsable)
			defer cancel()
			return nil, s.readLines(ctx)
		})
		select {
		case read := <-shared:
			if read.Err != nil {
				return nil, read.Err
			}
		case <-ctx.Done():
			return nil, fault.NewUnavailable("the login queues were not read in time", ctx.Err())
		}
	}
}

// readLines replaces this replica's copy of all lines.
func (s *Store) readLines(ctx context.Context) error {
	// Taken before the statement: the copy is at least as new as it says.
	began := time.Now()
	rows, err := s.q.LoginLines(ctx)
	if err != nil {
		return frame.Classify(err)
	}
	r := &linesReading{readAt: began}
	for _, row := range rows {
		r.lines = append(r.lines, &LoginLine{row})
	}
	s.loginLines.latestReading.Store(r)
	return nil
}

// openLine stands for a valve where there is none.
var openLine = &LoginLine{query.LoginLinesRow{Mode: ValveOpen}}

// deciding returns the line of the valve that decides: that of the build and region, else of the build, else of the
// region, else of all.
func (r *linesReading) deciding(region, build string) *LoginLine {
	best, bestRank := openLine, -1
	for _, l := range r.lines {
		isOther := l.row.Region != "" && l.row.Region != region || l.row.Build != "" && l.row.Build != build
		if rank := l.rank(); !isOther && rank > bestRank {
			best, bestRank = l, rank
		}
	}
	return best
}

// rank says which of several valves that fit decides: the one with the highest rank.
func (l *LoginLine) rank() (rank int) {
	if l.row.Build != "" {
		rank += 2
	}
	if l.row.Region != "" {
		rank++
	}
	return rank
}
