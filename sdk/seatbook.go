package sdk

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

const (
	// maxReportsInFlight bounds how many sessions report at once; more would not make the director faster.
	maxReportsInFlight = 8
	// maxWaitingJoins bounds the memory that players at the door can take while the director is away. Those who leave
	// need no bound: they were admitted first.
	maxWaitingJoins = 4096
)

// deliverFunc sends one report, once, and returns the director's answer.
type deliverFunc func(ctx context.Context, session string, batch []*entry) (seatsAnswer, error)

// seatBook knows who sits where and tells the director about it. Each session has one queue and at most one report in
// flight; what gathers meanwhile goes into the next report together, so a lone player waits for nobody and a rush
// makes reports longer, not more. Within a session things are reported in the order they happened.
type seatBook struct {
	deliver deliverFunc
	opts    Options
	life    context.Context //nolint:containedctx // the server's
	slots   chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	rooms   map[string]*room
	working int // workers, those of forgotten rooms included
	joins   int // players waiting at the door
}

func newSeatBook(life context.Context, opts Options, deliver deliverFunc) *seatBook {
	b := &seatBook{
		deliver: deliver, opts: opts, life: life,
		slots: make(chan struct{}, maxReportsInFlight), rooms: map[string]*room{},
	}
	b.changed = sync.NewCond(&b.mu)
	return b
}

// join asks the director to connect the seat, and returns nil when the player may play. When ctx ends first the player
// is refused here, and the seat given back should the report have gone out.
func (b *seatBook) join(ctx context.Context, seat *Admission) error {
	e := &entry{kind: joined, seat: seat, verdict: make(chan error, 1)}
	if err := b.enqueue(seat.SessionID, e); err != nil {
		return err
	}
	select {
	case err := <-e.verdict:
		return err
	case <-ctx.Done():
		return b.abandon(e, context.Cause(ctx))
	}
}

// leave frees the seat, if this admission still holds it when its turn comes: of two connections of one player only
// the newer one's end is an end.
func (b *seatBook) leave(seat *Admission) {
	_ = b.enqueue(seat.SessionID, &entry{kind: left, seat: seat}) // A dead server has nothing to report.
}

// finish closes the session.
func (b *seatBook) finish(session string) {
	_ = b.enqueue(session, &entry{kind: ended})
}

func (b *seatBook) enqueue(session string, e *entry) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.life.Err() != nil {
		return context.Cause(b.life)
	}
	if e.kind == joined && b.joins >= maxWaitingJoins {
		return ErrBusy
	}
	r := b.rooms[session]
	if r == nil {
		r = newRoom(b.life, session)
		b.rooms[session] = r
	}
	b.joins += countJoins(e)
	r.queue = append(r.queue, e)
	if !r.working {
		r.working = true
		b.working++
		go b.work(r)
	}
	return nil
}

// abandon refuses a player whose time is up. A verdict that came at the same instant counts.
func (b *seatBook) abandon(e *entry, cause error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	select {
	case err := <-e.verdict:
		return err
	default:
		e.abandoned = true
		return cause
	}
}

// work reports until the room has nothing left to report. What the director could not be told goes back into the queue,
// because by the next try there may be more to say, or something else.
func (b *seatBook) work(r *room) {
	pause := newPacer(b.opts)
	for {
		batch := b.take(r)
		if len(batch) == 0 {
			return
		}
		answer, err := b.send(r, batch)
		if r.ctx.Err() == nil && (retryable(err) || mendable(err)) {
			b.putBack(r, batch)
			b.rest(r, pause, err)
			continue
		}
		pause.Reset()
		b.settle(r, batch, answer, err)
	}
}

func (b *seatBook) rest(r *room, pause *pacer, err error) {
	pause.after(err)
	d := pause.NextBackOff()
	b.opts.Logger.LogAttrs(r.ctx, slog.LevelWarn, "seat report is repeated",
		slog.String("session_id", r.session), slog.Duration("pause", d), slog.Any("error", err))
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.ctx.Done():
	}
}

// take starts the next report. With nothing to report it retires the worker, and the room too when nobody is in it.
func (b *seatBook) take(r *room) []*entry {
	b.mu.Lock()
	defer b.mu.Unlock()
	before := countJoins(r.queue...)
	batch := r.nextBatch()
	b.joins -= before - countJoins(r.queue...)
	if len(batch) > 0 {
		return batch
	}
	r.working = false
	b.working--
	if len(r.players) == 0 && b.rooms[r.session] == r {
		delete(b.rooms, r.session)
		r.end(ErrSessionLost)
	}
	b.changed.Broadcast()
	return nil
}

func (b *seatBook) send(r *room, batch []*entry) (seatsAnswer, error) {
	select {
	case b.slots <- struct{}{}:
	case <-r.ctx.Done():
		return seatsAnswer{}, context.Cause(r.ctx)
	}
	defer func() { <-b.slots }()
	answer, err := b.deliver(r.ctx, r.session, batch)
	if err != nil && r.ctx.Err() != nil {
		return answer, context.Cause(r.ctx)
	}
	return answer, err
}

func (b *seatBook) putBack(r *room, batch []*entry) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rooms[r.session] == r {
		b.joins += countJoins(batch...)
		r.putBack(batch)
	}
}

// settle acts on the answer to a report. A 404 or "closed" means that the director has ended the session. In a room
// that was forgotten meanwhile everybody has been told already.
func (b *seatBook) settle(r *room, batch []*entry, answer seatsAnswer, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rooms[r.session] != r {
		return
	}
	if err != nil && b.life.Err() == nil {
		b.opts.Logger.LogAttrs(b.life, slog.LevelInfo, "seat report failed",
			slog.String("session_id", r.session), slog.Int("entries", len(batch)), slog.Any("error", err))
	}
	r.settle(batch, answer, err)
	if answer.Closed || errors.Is(err, ErrNotFound) {
		r.strand()
	}
}

// forget drops all sessions: players in them are stranded, those at their doors refused. It returns how many had players.
func (b *seatBook) forget() (sessions int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, r := range b.rooms {
		if len(r.players) > 0 {
			sessions++
		}
		b.joins -= countJoins(r.queue...)
		r.giveUp()
	}
	clear(b.rooms)
	b.changed.Broadcast()
	return sessions
}

// empty waits until no session has a player or anything to report. It ends early with ctx or the server's life.
func (b *seatBook) empty(ctx context.Context) error {
	return b.until(ctx, func() bool { return len(b.rooms) == 0 || b.life.Err() != nil })
}

// flush waits until nothing is left to report, or until the workers have noticed that the server's life is over.
func (b *seatBook) flush(ctx context.Context) error {
	return b.until(ctx, func() bool { return b.working == 0 })
}

func (b *seatBook) until(ctx context.Context, ready func() bool) error {
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
