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
	serverLife    context.Context //nolint:containedctx // ends with the server
	callSlots     chan struct{}

	mu           sync.Mutex
	changedCond  *sync.Cond
	sessionByID  map[string]*session
	workerCount  int // workers, those of forgotten sessions included
	pendingJoins int // joins without a result
}

func newSeatReporter(life context.Context, opts Options, deliver deliverFunc) *seatReporter {
	r := &seatReporter{
		deliverBatch: deliver, clientOptions: opts, serverLife: life,
		callSlots: make(chan struct{}, maxConcurrentReports), sessionByID: map[string]*session{},
	}
	r.changedCond = sync.NewCond(&r.mu)
	return r
}

// reportJoin asks the director to connect the seat, and returns nil when the player may play. If ctx ends first, it
// returns the cause of ctx, and the seat is freed again if the report was already sent.
func (r *seatReporter) reportJoin(ctx context.Context, seat *Admission) error {
	e := &entry{kind: joined, seat: seat, resultQueue: make(chan error, 1)}
	if err := r.enqueueEntry(seat.SessionID, e); err != nil {
		return err
	}
	select {
	case err := <-e.resultQueue:
		return err
	case <-ctx.Done():
		return r.abandonJoin(e, context.Cause(ctx))
	}
}

// reportLeave frees the seat, if this admission still holds it when its report is sent. Of two connections of one
// player only the newer one holds the seat.
func (r *seatReporter) reportLeave(seat *Admission) {
	_ = r.enqueueEntry(seat.SessionID, &entry{kind: left, seat: seat}) // A server that has ended reports nothing.
}

// finishSession reports that the session has ended.
func (r *seatReporter) finishSession(sessionID string) {
	_ = r.enqueueEntry(sessionID, &entry{kind: ended})
}

func (r *seatReporter) enqueueEntry(sessionID string, e *entry) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.serverLife.Err() != nil {
		return context.Cause(r.serverLife)
	}
	if e.kind == joined && r.pendingJoins >= maxPendingJoins {
		return ErrBusy
	}
	s := r.sessionByID[sessionID]
	if s == nil {
		s = newSession(r.serverLife, sessionID)
		r.sessionByID[sessionID] = s
	}
	r.pendingJoins += countJoins(e)
	s.queuedEntries = append(s.queuedEntries, e)
	if !s.isWorking {
		s.isWorking = true
		r.workerCount++
		go r.workSession(s)
	}
	return nil
}

// abandonJoin returns cause to a join whose context has ended, unless the result arrived at the same moment.
func (r *seatReporter) abandonJoin(e *entry, cause error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
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
func (r *seatReporter) workSession(s *session) {
	pause := newPacer(r.clientOptions)
	for {
		batch := r.takeBatch(s)
		if len(batch) == 0 {
			return
		}
		answer, err := r.sendBatch(s, batch)
		if s.ctx.Err() == nil && (isRetryable(err) || operatorCanFix(err)) {
			r.putBack(s, batch)
			r.pauseRetry(s, pause, err)
			continue
		}
		pause.Reset()
		r.settleBatch(s, batch, answer, err)
	}
}

func (r *seatReporter) pauseRetry(s *session, pause *pacer, err error) {
	pause.noteResult(err)
	d := pause.NextBackOff()
	r.clientOptions.Logger.LogAttrs(s.ctx, slog.LevelWarn, "retrying seat report",
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
func (r *seatReporter) takeBatch(s *session) []*entry {
	r.mu.Lock()
	defer r.mu.Unlock()
	// Joins that are sent, and those that beginBatch drops, no longer count as pending.
	before := countJoins(s.queuedEntries...)
	batch := s.beginBatch()
	r.pendingJoins -= before - countJoins(s.queuedEntries...)
	if len(batch) > 0 {
		return batch
	}
	s.isWorking = false
	r.workerCount--
	if len(s.admissionBySub) == 0 && r.sessionByID[s.id] == s {
		delete(r.sessionByID, s.id)
		s.end(ErrSessionLost)
	}
	r.changedCond.Broadcast()
	return nil
}

func (r *seatReporter) sendBatch(s *session, batch []*entry) (seatsAnswer, error) {
	select {
	case r.callSlots <- struct{}{}:
	case <-s.ctx.Done():
		return seatsAnswer{}, context.Cause(s.ctx)
	}
	defer func() { <-r.callSlots }()
	answer, err := r.deliverBatch(s.ctx, s.id, batch)
	if err != nil && s.ctx.Err() != nil {
		return answer, context.Cause(s.ctx)
	}
	return answer, err
}

func (r *seatReporter) putBack(s *session, batch []*entry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessionByID[s.id] == s {
		r.pendingJoins += countJoins(batch...)
		s.putBack(batch)
	}
}

// settleBatch applies the answer to a report. A 404 or closed means that the director has ended the session. It ignores
// a session that forgetAll has dropped meanwhile, whose joins have their results already.
func (r *seatReporter) settleBatch(s *session, batch []*entry, answer seatsAnswer, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.sessionByID[s.id] != s {
		return
	}
	if err != nil && r.serverLife.Err() == nil {
		r.clientOptions.Logger.LogAttrs(r.serverLife, slog.LevelInfo, "seat report failed",
			slog.String("session_id", s.id), slog.Int("entries", len(batch)), slog.Any("error", err))
	}
	s.settleEntries(batch, answer, err)
	if answer.Closed || errors.Is(err, ErrNotFound) {
		s.endAdmissions()
	}
}

// forgetAll drops all sessions. It ends their admissions, fails their waiting joins, and returns how many sessions had
// players.
func (r *seatReporter) forgetAll() (lost int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.sessionByID {
		if len(s.admissionBySub) > 0 {
			lost++
		}
		r.pendingJoins -= countJoins(s.queuedEntries...)
		s.cancelEntries()
	}
	clear(r.sessionByID)
	r.changedCond.Broadcast()
	return lost
}

// waitUntilEmpty waits until no session has players or entries to report. It returns early when ctx or the server's
// life ends.
func (r *seatReporter) waitUntilEmpty(ctx context.Context) error {
	return r.waitUntil(ctx, func() bool { return len(r.sessionByID) == 0 || r.serverLife.Err() != nil })
}

// flushReports waits until all entries are reported or, once the server's life has ended, until all workers have
// returned.
func (r *seatReporter) flushReports(ctx context.Context) error {
	return r.waitUntil(ctx, func() bool { return r.workerCount == 0 })
}

func (r *seatReporter) waitUntil(ctx context.Context, ready func() bool) error {
	wake := func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.changedCond.Broadcast()
	}
	stopCtx := context.AfterFunc(ctx, wake)
	defer stopCtx()
	stopLife := context.AfterFunc(r.serverLife, wake) //nolint:contextcheck // the other end of the wait
	defer stopLife()
	r.mu.Lock()
	defer r.mu.Unlock()
	for !ready() {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		r.changedCond.Wait()
	}
	return nil
}
