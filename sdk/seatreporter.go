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
	deliverBatch  deliverFunc
	clientOptions Options
	serverLife    context.Context //nolint:containedctx // the server's
	callSlots     chan struct{}

	mu           sync.Mutex
	changedCond  *sync.Cond
	sessionByID  map[string]*session
	workerCount  int // workers, those of forgotten sessions included
	pendingJoins int // joins without a result
}

func newSeatReporter(life context.Context, opts Options, deliver deliverFunc) *seatReporter {
	b := &seatReporter{
		deliverBatch: deliver, clientOptions: opts, serverLife: life,
		callSlots: make(chan struct{}, maxConcurrentReports), sessionByID: map[string]*session{},
	}
	b.changedCond = sync.NewCond(&b.mu)
	return b
}

// reportJoin asks the director to connect the seat, and returns nil when the player may play. If ctx ends first, it
// returns the cause of ctx, and the seat is freed again if the report was already sent.
func (b *seatReporter) reportJoin(ctx context.Context, seat *Admission) error {
	e := &entry{kind: joined, seat: seat, resultQueue: make(chan error, 1)}
	if err := b.enqueueReport(seat.SessionID, e); err != nil {
		return err
	}
	select {
	case err := <-e.resultQueue:
		return err
	case <-ctx.Done():
		return b.abandonReport(e, context.Cause(ctx))
	}
}

// reportLeave frees the seat, if this admission still holds it when its report is sent. Of two connections of one
// player only the newer one holds the seat.
func (b *seatReporter) reportLeave(seat *Admission) {
	_ = b.enqueueReport(seat.SessionID, &entry{kind: left, seat: seat}) // A server that has ended reports nothing.
}

// finishSession closes the session.
func (b *seatReporter) finishSession(sessionID string) {
	_ = b.enqueueReport(sessionID, &entry{kind: ended})
}

func (b *seatReporter) enqueueReport(sessionID string, e *entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.serverLife.Err() != nil {
		return context.Cause(b.serverLife)
	}
	if e.kind == joined && b.pendingJoins >= maxPendingJoins {
		return ErrBusy
	}
	s := b.sessionByID[sessionID]
	if s == nil {
		s = newSession(b.serverLife, sessionID)
		b.sessionByID[sessionID] = s
	}
	b.pendingJoins += countJoins(e)
	s.queuedReports = append(s.queuedReports, e)
	if !s.isWorking {
		s.isWorking = true
		b.workerCount++
		go b.workSession(s)
	}
	return nil
}

// abandonReport returns cause to a join whose context has ended, unless the result arrived at the same moment.
func (b *seatReporter) abandonReport(e *entry, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-e.resultQueue:
		return err
	default:
		e.isAbandoned = true
		return cause
	}
}

// workSession sends reports until the session's queue is empty. A failed report's entries go back into the queue,
// because the next attempt may have more entries, and some of these may be obsolete by then.
func (b *seatReporter) workSession(s *session) {
	pause := newPacer(b.clientOptions)
	for {
		batch := b.takeBatch(s)
		if len(batch) == 0 {
			return
		}
		answer, err := b.sendBatch(s, batch)
		if s.ctx.Err() == nil && (isRetryable(err) || operatorCanFix(err)) {
			b.putBack(s, batch)
			b.pauseRetry(s, pause, err)
			continue
		}
		pause.Reset()
		b.settleBatch(s, batch, answer, err)
	}
}

func (b *seatReporter) pauseRetry(s *session, pause *pacer, err error) {
	pause.noteResult(err)
	d := pause.NextBackOff()
	b.clientOptions.Logger.LogAttrs(s.ctx, slog.LevelWarn, "retrying seat report",
		slog.String("session_id", s.id), slog.Duration("pause", d), slog.Any("error", err))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// takeBatch returns the entries of the next report. If there are none, it marks the session's worker as ended, and
// deletes the session if it has no players.
func (b *seatReporter) takeBatch(s *session) []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	// Joins that are sent, and those that nextBatch drops, leave the bound of waiting ones.
	before := countJoins(s.queuedReports...)
	batch := s.nextBatch()
	b.pendingJoins -= before - countJoins(s.queuedReports...)
	if len(batch) > 0 {
		return batch
	}
	s.isWorking = false
	b.workerCount--
	if len(s.admissionBySub) == 0 && b.sessionByID[s.id] == s {
		delete(b.sessionByID, s.id)
		s.end(ErrSessionLost)
	}
	b.changedCond.Broadcast()
	return nil
}

func (b *seatReporter) sendBatch(s *session, batch []*entry) (seatsAnswer, error) {
	select {
	case b.callSlots <- struct{}{}:
	case <-s.ctx.Done():
		return seatsAnswer{}, context.Cause(s.ctx)
	}
	defer func() { <-b.callSlots }()
	answer, err := b.deliverBatch(s.ctx, s.id, batch)
	if err != nil && s.ctx.Err() != nil {
		return answer, context.Cause(s.ctx)
	}
	return answer, err
}

func (b *seatReporter) putBack(s *session, batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessionByID[s.id] == s {
		b.pendingJoins += countJoins(batch...)
		s.putBack(batch)
	}
}

// settleBatch applies the answer to a report. A 404 or closed means that the director has ended the session. It ignores
// a session that forgetAll has dropped meanwhile, whose joins have their results already.
func (b *seatReporter) settleBatch(s *session, batch []*entry, answer seatsAnswer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sessionByID[s.id] != s {
		return
	}
	if err != nil && b.serverLife.Err() == nil {
		b.clientOptions.Logger.LogAttrs(b.serverLife, slog.LevelInfo, "seat report failed",
			slog.String("session_id", s.id), slog.Int("entries", len(batch)), slog.Any("error", err))
	}
	s.settleReports(batch, answer, err)
	if answer.Closed || errors.Is(err, ErrNotFound) {
		s.endAdmissions()
	}
}

// forgetAll drops all sessions. It ends their admissions, fails their waiting joins, and returns how many sessions had
// players.
func (b *seatReporter) forgetAll() (lost int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessionByID {
		if len(s.admissionBySub) > 0 {
			lost++
		}
		b.pendingJoins -= countJoins(s.queuedReports...)
		s.cancelReports()
	}
	clear(b.sessionByID)
	b.changedCond.Broadcast()
	return lost
}

// waitUntilEmpty waits until no session has players or entries to report. It returns early when ctx or the server's
// life ends.
func (b *seatReporter) waitUntilEmpty(ctx context.Context) error {
	return b.waitUntil(ctx, func() bool { return len(b.sessionByID) == 0 || b.serverLife.Err() != nil })
}

// flushReports waits until all entries are reported or, once the server's life has ended, until all workers have
// returned.
func (b *seatReporter) flushReports(ctx context.Context) error {
	return b.waitUntil(ctx, func() bool { return b.workerCount == 0 })
}

func (b *seatReporter) waitUntil(ctx context.Context, ready func() bool) error {
	wake := func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.changedCond.Broadcast()
	}
	stopCtx := context.AfterFunc(ctx, wake)
	defer stopCtx()
	stopLife := context.AfterFunc(b.serverLife, wake) //nolint:contextcheck // the other end of the wait
	defer stopLife()
	b.mu.Lock()
	defer b.mu.Unlock()
	for !ready() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		b.changedCond.Wait()
	}
	return nil
}
