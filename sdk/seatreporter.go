package sdk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxConcurrentReports bounds the reports in flight, one for each session. More would not make the director faster.
	maxConcurrentReports = 8
	// maxPendingJoins bounds the memory of waiting joins while the director is unreachable. Leaves need no bound of
	// their own: each belongs to an admitted player.
	maxPendingJoins = 4096
)

// deliverFunc sends one report, once, and returns the director's answer.
type deliverFunc func(ctx context.Context, sessionID string, batch []*entry) (seatsAnswer, error)

// seatReporter reports joins, leaves and ends of sessions to the director. Each session has one queue and at most one
// report in flight. Entries that arrive meanwhile go into the next report together, so that a single player never waits
// for a batch to fill, and many players make reports longer, not more numerous. A session's entries keep their order.
type seatReporter struct {
	deliver deliverFunc
	opts    Options
	life    context.Context //nolint:containedctx // the server's
	slots   chan struct{}

	mu           sync.Mutex
	changed      *sync.Cond
	sessions     map[string]*session
	working      int // workers, those of forgotten sessions included
	pendingJoins int // joins without a result
}

func newSeatReporter(life context.Context, opts Options, deliver deliverFunc) *seatReporter {
	b := &seatReporter{
		deliver: deliver, opts: opts, life: life,
		slots: make(chan struct{}, maxConcurrentReports), sessions: map[string]*session{},
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// join asks the director to connect the seat, and returns nil when the player may play. If ctx ends first, join returns
// its cause, and the seat is freed again if the report was already sent.
func (b *seatReporter) join(ctx context.Context, seat *Admission) error {
	e := &entry{kind: joined, seat: seat, result: make(chan error, 1)}
	if err := b.enqueue(seat.SessionID, e); err != nil {
		return err
	}
	select {
	case err := <-e.result:
		return err
	case <-ctx.Done():
		return b.abandon(e, context.Cause(ctx))
	}
}

// leave frees the seat, if this admission still holds it when its report is sent. Of two connections of one player only
// the newer one holds the seat.
func (b *seatReporter) leave(seat *Admission) {
	_ = b.enqueue(seat.SessionID, &entry{kind: left, seat: seat}) // A server that has ended reports nothing.
}

// finish closes the session.
func (b *seatReporter) finish(sessionID string) {
	_ = b.enqueue(sessionID, &entry{kind: ended})
}

func (b *seatReporter) enqueue(sessionID string, e *entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil {
		return context.Cause(b.life)
	}
	if e.kind == joined && b.pendingJoins >= maxPendingJoins {
		return ErrBusy
	}
	s := b.sessions[sessionID]
	if s == nil {
		s = newSession(b.life, sessionID)
		b.sessions[sessionID] = s
	}
	b.pendingJoins += countJoins(e)
	s.queue = append(s.queue, e)
	if !s.working {
		s.working = true
		b.working++
		go b.work(s)
	}
	return nil
}

// abandon returns cause to a join whose context has ended, unless the result arrived at the same moment.
func (b *seatReporter) abandon(e *entry, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-e.result:
		return err
	default:
		e.abandoned = true
		return cause
	}
}

// work sends reports until the session's queue is empty. A failed report's entries go back into the queue, because the
// next attempt may have more entries, and some of these may be obsolete by then.
func (b *seatReporter) work(s *session) {
	pause := newPacer(b.opts)
	for {
		batch := b.take(s)
		if len(batch) == 0 {
			return
		}
		answer, err := b.send(s, batch)
		if s.ctx.Err() == nil && (retryable(err) || operatorCanFix(err)) {
			b.putBack(s, batch)
			b.wait(s, pause, err)
			continue
		}
		pause.Reset()
		b.settle(s, batch, answer, err)
	}
}

func (b *seatReporter) wait(s *session, pause *pacer, err error) {
	pause.noteResult(err)
	d := pause.NextBackOff()
	b.opts.Logger.LogAttrs(s.ctx, slog.LevelWarn, "retrying seat report",
		slog.String("session_id", s.id), slog.Duration("pause", d), slog.Any("error", err))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// take returns the entries of the next report. If there are none, it marks the session's worker as ended, and deletes
// the session if it has no players.
func (b *seatReporter) take(s *session) []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := countJoins(s.queue...)
	batch := s.nextBatch()
	b.pendingJoins -= before - countJoins(s.queue...)
	if len(batch) > 0 {
		return batch
	}
	s.working = false
	b.working--
	if len(s.players) == 0 && b.sessions[s.id] == s {
		delete(b.sessions, s.id)
		s.end(ErrSessionLost)
	}
	b.changed.Broadcast()
	return nil
}

func (b *seatReporter) send(s *session, batch []*entry) (seatsAnswer, error) {
	select {
	case b.slots <- struct{}{}:
	case <-s.ctx.Done():
		return seatsAnswer{}, context.Cause(s.ctx)
	}
	defer func() { <-b.slots }()
	answer, err := b.deliver(s.ctx, s.id, batch)
	if err != nil && s.ctx.Err() != nil {
		return answer, context.Cause(s.ctx)
	}
	return answer, err
}

func (b *seatReporter) putBack(s *session, batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.id] == s {
		b.pendingJoins += countJoins(batch...)
		s.putBack(batch)
	}
}

// settle applies the answer to a report. A 404 or closed means that the director has ended the session. It ignores a
// session that forget has dropped meanwhile, whose joins have their results already.
func (b *seatReporter) settle(s *session, batch []*entry, answer seatsAnswer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessions[s.id] != s {
		return
	}
	if err != nil && b.life.Err() == nil {
		b.opts.Logger.LogAttrs(b.life, slog.LevelInfo, "seat report failed",
			slog.String("session_id", s.id), slog.Int("entries", len(batch)), slog.Any("error", err))
	}
	s.settle(batch, answer, err)
	if answer.Closed || errors.Is(err, ErrNotFound) {
		s.endAdmissions()
	}
}

// forget drops all sessions. It ends their admissions, fails their waiting joins, and returns how many sessions had
// players.
func (b *seatReporter) forget() (lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		if len(s.players) > 0 {
			lost++
		}
		b.pendingJoins -= countJoins(s.queue...)
		s.cancel()
	}
	clear(b.sessions)
	b.changed.Broadcast()
	return lost
}

// empty waits until no session has players or entries to report. It returns early when ctx or the server's life ends.
func (b *seatReporter) empty(ctx context.Context) error {
	return b.until(ctx, func() bool { return len(b.sessions) == 0 || b.life.Err() != nil })
}

// flush waits until all entries are reported or, once the server's life has ended, until all workers have returned.
func (b *seatReporter) flush(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.working == 0 })
}

func (b *seatReporter) until(ctx context.Context, ready func() bool) error {
	wake := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changed.Broadcast()
	}
	stopCtx := context.AfterFunc(ctx, wake)
	defer stopCtx()
	stopLife := context.AfterFunc(b.life, wake) //nolint:contextcheck // the other end of the wait
	defer stopLife()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !ready() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b.changed.Wait()
	}
	return nil
}
