package db

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// GroupObserver hears about every flight: how many calls it decided, how long the oldest had waited for it, and how
// long it took; and about every panic, which fails the batch that it happens in. Methods are called from many goroutines.
type GroupObserver interface {
	Flight(group string, calls int, waited, took time.Duration)
	Panic(group string)
}

// groupLimits says how large batches of a kind of call may be, and how much may wait for one.
type groupLimits[Req any] struct {
	maxWeight int           // of a batch
	weight    func(Req) int // of a call
	bytes     func(Req) int // what a waiting call keeps in memory, about
}

func byCount[Req any](Req) int { return 1 }

// A group turns concurrency into batch size (group commit). Calls of one key are decided together, one flight of a
// key at a time: a flight is whatever queued while the previous one was in the air, so a lone caller waits for nobody
// and load makes flights bigger instead of more.
//
// run decides a flight's calls, in one transaction where it can, and answers each after the commit. What it returns
// without an answer and without an error goes to the head of the next flight. On an error of the data, the unanswered
// are tried again by halves, so that one bad member sinks only itself; a deadlock or serialization failure is tried
// again whole; any other error, a commit of unknown outcome among them, answers all of them.
type group[Req, Res any] struct {
	name     string
	run      func(ctx context.Context, key string, calls []*call[Req, Res]) error
	limits   groupLimits[Req]
	maxWait  int
	maxBytes int
	timeout  time.Duration
	observer GroupObserver // may be nil
	log      *slog.Logger

	mu      sync.Mutex
	queues  map[string][]*call[Req, Res] // a key is present while somebody flies it
	waiting int
	bytes   int // that waiting calls keep
	flyers  sync.WaitGroup
}

// call is one caller's request on its way through a group.
type call[Req, Res any] struct {
	ctx      context.Context
	req      Req
	bytes    int
	since    time.Time
	answered bool // or moved to another group
	out      *outcome[Res]
}

// outcome is what the caller waits for. It is written once, before done is closed.
type outcome[Res any] struct {
	res  Res
	err  error
	done chan struct{}
}

func newCall[Req, Res any](ctx context.Context, req Req, bytes int) *call[Req, Res] {
	return &call[Req, Res]{ctx: ctx, req: req, bytes: bytes, since: time.Now(), out: &outcome[Res]{done: make(chan struct{})}}
}

func (c *call[Req, Res]) answer(res Res, err error) {
	c.answered = true
	c.out.res, c.out.err = res, err
	close(c.out.done)
}

// moveTo has another group answer the call, after those that wait there already. A group that moves calls drains before
// the group that takes them.
func (c *call[Req, Res]) moveTo(g *group[Req, Res], key string) {
	moved := *c
	c.answered = true
	if err := g.enqueue(key, &moved); err != nil {
		var none Res
		moved.answer(none, err)
	}
}

func newGroup[Req, Res any](cfg Config, name string, limits groupLimits[Req],
	run func(context.Context, string, []*call[Req, Res]) error,
) *group[Req, Res] {
	return &group[Req, Res]{
		name: name, run: run, limits: limits, maxWait: cfg.MaxWaiting, maxBytes: cfg.MaxWaitingBytes,
		timeout: cfg.BatchTimeout, observer: cfg.Observer, log: cfg.Log, queues: map[string][]*call[Req, Res]{},
	}
}

// do joins the key's next flight and waits for the answer. A caller whose context ends before gets Unavailable: it
// may or may not have been decided.
func (g *group[Req, Res]) do(ctx context.Context, key string, req Req) (Res, error) {
	var none Res
	c := newCall[Req, Res](ctx, req, g.limits.bytes(req))
	if err := g.enqueue(key, c); err != nil {
		return none, err
	}
	select {
	case <-c.out.done:
		return c.out.res, c.out.err
	case <-ctx.Done():
		return none, unavailable("no decision in time", ctx.Err())
	}
}

func (g *group[Req, Res]) enqueue(key string, c *call[Req, Res]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waiting >= g.maxWait || g.bytes+c.bytes > g.maxBytes {
		return unavailable("too many calls are waiting", nil)
	}
	g.waiting, g.bytes = g.waiting+1, g.bytes+c.bytes
	queue, flying := g.queues[key]
	g.queues[key] = append(queue, c)
	if !flying {
		g.flyers.Add(1)
		go g.fly(key)
	}
	return nil
}

// fly runs flights of a key until nobody waits for one.
func (g *group[Req, Res]) fly(key string) {
	defer g.flyers.Done()
	for {
		calls := g.board(key)
		if calls == nil {
			return
		}
		if live := g.dropGone(calls); len(live) > 0 {
			g.flight(key, live)
		}
	}
}

// board takes the next flight's calls off the queue, oldest first, as many as the weight allows.
func (g *group[Req, Res]) board(key string) []*call[Req, Res] {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queues[key]
	if len(queue) == 0 {
		delete(g.queues, key)
		return nil
	}
	n, weight := 0, 0
	for n < len(queue) && (n == 0 || weight+g.limits.weight(queue[n].req) <= g.limits.maxWeight) {
		weight += g.limits.weight(queue[n].req)
		g.bytes -= queue[n].bytes
		n++
	}
	g.queues[key] = queue[n:]
	g.waiting -= n
	return queue[:n:n]
}

// dropGone leaves out callers that went away before their flight began: nothing is decided for them.
func (g *group[Req, Res]) dropGone(calls []*call[Req, Res]) []*call[Req, Res] {
	live := calls[:0]
	for _, c := range calls {
		if err := c.ctx.Err(); err != nil {
			var none Res
			c.answer(none, unavailable("no decision in time", err))
			continue
		}
		live = append(live, c)
	}
	return live
}

func (g *group[Req, Res]) flight(key string, calls []*call[Req, Res]) {
	// Not a caller's context: one that leaves must not take the others' decision with it.
	ctx, cancel := context.WithDeadline(context.Background(), g.deadline(calls))
	defer cancel()
	if first, links := traced(calls); first != nil {
		var span trace.Span
		ctx, span = first.TracerProvider().Tracer("github.com/lattice-director/director/db").Start(trace.ContextWithSpan(ctx, first),
			"group "+g.name, trace.WithLinks(links...), trace.WithAttributes(attribute.Int("director.calls", len(calls))))
		defer span.End()
	}
	start := time.Now()
	deferred := g.decide(ctx, key, calls, 0)
	if g.observer != nil {
		g.observer.Flight(g.name, len(calls), start.Sub(calls[0].since), time.Since(start))
	}
	if len(deferred) == 0 {
		return
	}
	if len(deferred) == len(calls) {
		// Another replica is deciding about the same players: give its transaction a moment.
		pause(ctx, busyPause)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.queues[key] = append(deferred, g.queues[key]...)
	g.waiting += len(deferred)
	for _, c := range deferred {
		g.bytes += c.bytes
	}
}

// deadline is when a batch ends: no connection, and no lock, is held when all its callers have given up.
func (g *group[Req, Res]) deadline(calls []*call[Req, Res]) time.Time {
	longest := time.Now().Add(g.timeout)
	var last time.Time
	for _, c := range calls {
		d, limited := c.ctx.Deadline()
		if !limited || d.After(longest) {
			return longest
		}
		if d.After(last) {
			last = d
		}
	}
	return last
}

// traced finds the trace that a flight, and the SQL in it, is shown in: that of the first caller who is traced. Those of
// the others link to it.
func traced[Req, Res any](calls []*call[Req, Res]) (first trace.Span, others []trace.Link) {
	for _, c := range calls {
		span := trace.SpanFromContext(c.ctx)
		switch {
		case !span.IsRecording():
		case first == nil:
			first = span
		default:
			others = append(others, trace.Link{SpanContext: span.SpanContext()})
		}
	}
	return first, others
}

// busyPause is about a transaction's length.
const busyPause = 2 * time.Millisecond

const maxConflictRetries = 5

// decide runs the calls and settles errors; it returns those left for the next flight.
func (g *group[Req, Res]) decide(ctx context.Context, key string, calls []*call[Req, Res], conflicts int) []*call[Req, Res] {
	err := withoutPanic(func() error { return g.run(ctx, key, calls) })
	left := unanswered(calls)
	switch {
	case err == nil || len(left) == 0:
		return left
	case isConflict(err) && conflicts < maxConflictRetries:
		return g.decide(ctx, key, left, conflicts+1)
	case isDataError(err) && len(left) > 1:
		half := len(left) / 2
		return append(g.decide(ctx, key, left[:half:half], conflicts), g.decide(ctx, key, left[half:], conflicts)...)
	}
	g.tellPanic(ctx, err)
	var none Res
	for _, c := range left {
		c.answer(none, classify(err))
	}
	return nil
}

func (g *group[Req, Res]) tellPanic(ctx context.Context, err error) {
	p, ok := errors.AsType[*panicError](err)
	if !ok {
		return
	}
	g.log.LogAttrs(ctx, slog.LevelError, "a batch panicked: its calls are answered with an internal error",
		append(p.attrs(), slog.String("group", g.name))...)
	if g.observer != nil {
		g.observer.Panic(g.name)
	}
}

func unanswered[Req, Res any](calls []*call[Req, Res]) []*call[Req, Res] {
	var left []*call[Req, Res]
	for _, c := range calls {
		if !c.answered {
			left = append(left, c)
		}
	}
	return left
}

// isConflict says that the transaction lost against another and that trying again is all it takes: a serialization
// failure, a deadlock, or a player who got a seat elsewhere between look and write.
func isConflict(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == "40001" || pg.Code == "40P01" || pg.Code == "23505")
}

func isDataError(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && !retryableState(pg.Code)
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// drain waits until nobody flies, or ctx ends.
func (g *group[Req, Res]) drain(ctx context.Context) error {
	landed := make(chan struct{})
	go func() { g.flyers.Wait(); close(landed) }()
	select {
	case <-landed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
