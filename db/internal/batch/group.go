package batch

import (
	"context"
	"sync"
	"time"
)

// Decide decides the calls of a batch, in one transaction where it can, and answers each call after the commit. A call
// that it leaves unanswered, without an error, goes to the head of the next batch.
type Decide[Req, Res any] func(ctx context.Context, key string, calls []*Call[Req, Res]) error

// Group collects calls into batches. Make one with [New]; it is safe for concurrent use.
type Group[Req, Res any] struct {
	name        string
	decideBatch Decide[Req, Res]
	limits      Limits[Req]
	cfg         Config

	mu           sync.Mutex
	queuesByKey  map[string][]*Call[Req, Res] // a key is present while a goroutine runs its batches
	waitingCalls int
	waitingBytes int // of the calls that wait
	runners      sync.WaitGroup
}

// New makes a group. Its name is the one in metrics, traces and logs.
func New[Req, Res any](cfg Config, name string, limits Limits[Req], decide Decide[Req, Res]) *Group[Req, Res] {
	return &Group[Req, Res]{name: name, decideBatch: decide, limits: limits, cfg: cfg,
		queuesByKey: map[string][]*Call[Req, Res]{}}
}

// Do puts a call into the key's next batch and waits for the answer, and again while Reconsider says so. When ctx ends
// first, Do returns Errors.Unavailable, and the call may or may not have been decided.
func (g *Group[Req, Res]) Do(ctx context.Context, key string, req Req) (Res, error) {
	var res Res
	err := Repeat(ctx, func() (err error) {
		res, err = g.Begin(ctx, key, req)()
		return err
	}, g.cfg.Reconsider)
	return res, err
}

// Repeat calls decide, and again each time that reconsider returns nil for its error. It returns nil once decide
// succeeds, and otherwise the error of reconsider; without reconsider, that of decide.
func Repeat(ctx context.Context, decide func() error, reconsider func(ctx context.Context, err error) error) error {
	for {
		err := decide()
		if err == nil || reconsider == nil {
			return err
		}
		err = reconsider(ctx, err)
		if err != nil {
			return err
		}
	}
}

// Begin puts a call into the key's next batch and returns at once, for a caller whose calls must keep their order. wait
// waits for the answer, which nothing reconsiders; the caller need not call it.
func (g *Group[Req, Res]) Begin(ctx context.Context, key string, req Req) (wait func() (Res, error)) {
	var none Res
	c := newCall[Req, Res](ctx, req, g.limits.CallBytes(req))
	if err := g.enqueue(key, c); err != nil {
		return func() (Res, error) { return none, err }
	}
	return func() (Res, error) {
		select {
		case <-c.outcome.done:
			return c.outcome.res, c.outcome.err
		case <-ctx.Done():
			return none, g.cfg.Errors.Unavailable("no decision in time", ctx.Err())
		}
	}
}

func (g *Group[Req, Res]) enqueue(key string, c *Call[Req, Res]) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.waitingCalls >= g.cfg.MaxWaiting || g.waitingBytes+c.requestBytes > g.cfg.MaxWaitingBytes {
		return g.cfg.Errors.Unavailable("too many calls are waiting", nil)
	}
	g.waitingCalls, g.waitingBytes = g.waitingCalls+1, g.waitingBytes+c.requestBytes
	queue, running := g.queuesByKey[key]
	g.queuesByKey[key] = append(queue, c)
	// The goroutine ends with its queue, so that an unused key costs nothing.
	if !running {
		g.runners.Add(1)
		go g.runQueue(key)
	}
	return nil
}

// runQueue runs batches of a key until its queue is empty.
func (g *Group[Req, Res]) runQueue(key string) {
	defer g.runners.Done()
	for {
		calls := g.dequeue(key)
		if calls == nil {
			return
		}
		if live := g.dropCanceled(calls); len(live) > 0 {
			g.runBatch(key, live)
		}
	}
}

// dequeue takes the calls of the next batch off the queue, oldest first, as many as MaxWeight allows.
func (g *Group[Req, Res]) dequeue(key string) []*Call[Req, Res] {
	g.mu.Lock()
	defer g.mu.Unlock()
	queue := g.queuesByKey[key]
	if len(queue) == 0 {
		delete(g.queuesByKey, key)
		return nil
	}
	n, weight := 0, 0
	// At least one call, however heavy.
	for n < len(queue) && (n == 0 || weight+g.limits.CallWeight(queue[n].Req) <= g.limits.MaxWeight) {
		weight += g.limits.CallWeight(queue[n].Req)
		g.waitingBytes -= queue[n].requestBytes
		n++
	}
	g.queuesByKey[key] = queue[n:]
	g.waitingCalls -= n
	// Its capacity is bounded, so that appending to it cannot write into the queue.
	return queue[:n:n]
}

// dropCanceled leaves out calls whose callers left before the batch began: nothing is decided for them.
func (g *Group[Req, Res]) dropCanceled(calls []*Call[Req, Res]) []*Call[Req, Res] {
	live := calls[:0]
	for _, c := range calls {
		if err := c.ctx.Err(); err != nil {
			var none Res
			c.Answer(none, g.cfg.Errors.Unavailable("no decision in time", err))
			continue
		}
		live = append(live, c)
	}
	return live
}

// requeue puts calls at the head of the key's queue.
func (g *Group[Req, Res]) requeue(key string, calls []*Call[Req, Res]) {
	g.mu.Lock()
	defer g.mu.Unlock()
	// Before calls that came meanwhile. The bounds of waiting calls do not apply to calls that were accepted before.
	g.queuesByKey[key] = append(calls, g.queuesByKey[key]...)
	g.waitingCalls += len(calls)
	for _, c := range calls {
		g.waitingBytes += c.requestBytes
	}
}

// Waiting returns how many calls wait for a batch.
func (g *Group[Req, Res]) Waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.waitingCalls
}

// Drain waits until no batch runs and no call waits, or until ctx ends.
func (g *Group[Req, Res]) Drain(ctx context.Context) error {
	idle := make(chan struct{})
	go func() { g.runners.Wait(); close(idle) }()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// busyPause is the pause before a batch in which nothing was decided runs again: about the length of a transaction.
const busyPause = 2 * time.Millisecond

// runBatch decides calls and puts those that stay undecided back into the queue.
func (g *Group[Req, Res]) runBatch(key string, calls []*Call[Req, Res]) {
	// The context of a caller would end the batch for all when that caller leaves.
	ctx, cancel := context.WithDeadline(context.Background(), g.batchDeadline(calls))
	defer cancel()
	ctx, endSpan := startSpan(ctx, g.name, calls)
	defer endSpan()
	start := time.Now()
	const noRetries = 0
	undecided := g.decideWithRetries(ctx, key, calls, noRetries)
	if g.cfg.Observer != nil {
		g.cfg.Observer.Batch(g.name, len(calls), start.Sub(calls[0].QueuedAt), time.Since(start))
	}
	if len(undecided) == 0 {
		return
	}
	if len(undecided) == len(calls) {
		// Another replica is deciding about the same players, and its transaction must end first.
		select {
		case <-time.After(busyPause):
		case <-ctx.Done():
		}
	}
	g.requeue(key, undecided)
}

// batchDeadline is when a batch ends: once all of its callers have given up, it holds no connection and no lock.
func (g *Group[Req, Res]) batchDeadline(calls []*Call[Req, Res]) time.Time {
	longest := time.Now().Add(g.cfg.BatchTimeout)
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

// MoveTo puts the call at the end of the key's queue in another group, which answers it. A group that moves calls must
// be drained before the group that receives them.
func (c *Call[Req, Res]) MoveTo(g *Group[Req, Res], key string) {
	moved := *c
	c.isAnswered = true
	if err := g.enqueue(key, &moved); err != nil {
		var none Res
		moved.Answer(none, err)
	}
}
