package cycle

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// call is one Fetch: what its match function proposed, and what it is to be told.
type call struct {
	engine  *Engine
	caller  Caller
	id      uuid.UUID       // in the cycle; set at the door
	ctx     context.Context // ends when the caller leaves, or has been told all
	cancel  context.CancelFunc
	told    chan struct{} // rings when there is something to tell
	running sync.WaitGroup
	counted bool // guarded by the engine

	mu        sync.Mutex
	round     *round
	stop      context.CancelFunc // ends the match function
	ids       map[string]bool
	proposals []Proposal
	settled   map[int]bool // by index: told, or dropped by an owner before
	bytes     int
	done      bool // nothing more is proposed
	mmfErr    error
	outbox    []Accepted
	accepted  int
	ended     bool
	parting   bool // but what is being decided about its proposals comes first
	left      bool
	result    error
}

func newCall(ctx context.Context, e *Engine, caller Caller) *call {
	c := &call{engine: e, caller: caller, told: make(chan struct{}, 1), ids: map[string]bool{}, settled: map[int]bool{}}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// start runs the match function for a cycle.
func (c *call) start(r *round) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round = r
	if c.left || c.ended {
		c.done = true
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	c.stop = stop
	c.running.Go(func() {
		defer stop()
		c.finish(c.engine.Guard.Do("match function", func() error { return c.caller.Run(ctx, c.propose) }))
	})
}

// propose takes a match that the match function proposes.
func (c *call) propose(p Proposal) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.done {
		return errOver
	}
	if c.ids[p.ID] {
		err := errSameTwice(p.ID)
		c.parting = true
		c.endWith(&Error{SyncErr: err, MMFErr: c.mmfErr})
		return err
	}
	if err := c.weigh(p); err != nil {
		c.finishWith(err)
		return err
	}
	c.ids[p.ID] = true
	if p.Unreadable && !c.engine.outside {
		c.engine.metrics.verdicts.WithLabelValues(unreadable).Inc()
		return nil
	}
	c.proposals = append(c.proposals, p)
	ring(c.round.woken)
	return nil
}

// weigh counts a proposal against what may be kept.
func (c *call) weigh(p Proposal) error {
	marks := len(p.Tickets) * (64 + len(p.ID))
	size := 128 + len(p.BackfillBody) + len(p.Match) + marks
	for _, t := range p.Tickets {
		size += len(t)
	}
	c.bytes += size
	held := c.engine.held.Add(int64(size))
	switch {
	case len(p.ID) > maxMatchID:
		return errLongID
	case marks > maxMarks:
		return errManyTickets
	case len(c.ids) >= maxProposals:
		return errTooMany
	case c.bytes > maxBytes:
		return errTooLarge
	case held > c.engine.Memory:
		return errFull
	}
	return nil
}

// finish hears that the match function has ended.
func (c *call) finish(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finishWith(err)
}

// cut ends a match function that runs for too long.
func (c *call) cut() { c.finish(errOverrun) }

func (c *call) finishWith(err error) {
	if c.done {
		return
	}
	c.done, c.mmfErr = true, err
	if c.stop != nil {
		c.stop()
	}
	ring(c.round.woken)
}

// end ends the call, once what it is to be told is told. err is of the cycle.
func (c *call) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.parting = false
	ring(c.told)
	var known *db.Error
	switch {
	case errors.As(err, &known) && c.accepted == 0:
		c.endWith(err)
	case known != nil:
		c.endWith(&Error{SyncErr: errors.New(known.Detail), MMFErr: c.mmfErr})
	case err != nil || c.mmfErr != nil:
		c.endWith(&Error{SyncErr: err, MMFErr: c.mmfErr})
	default:
		c.endWith(nil)
	}
}

func (c *call) endWith(err error) {
	if c.ended {
		return
	}
	c.ended, c.done, c.result = true, true, err
	if c.stop != nil {
		c.stop()
	}
	ring(c.told)
	if c.round != nil {
		ring(c.round.woken)
	}
}

// verdict says that a proposal, by its index, has become a match.
type verdict struct {
	index   int
	created *db.Backfill // for it; nil: none was
}

// tell delivers the matches that proposals became, each once.
func (c *call) tell(kept []verdict) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, v := range kept {
		if c.settled[v.index] || v.index >= len(c.proposals) {
			continue
		}
		c.settled[v.index] = true
		c.accepted++
		c.outbox = append(c.outbox, Accepted{Proposal: c.proposals[v.index], CreatedBackfill: v.created})
	}
	ring(c.told)
}

// part lets a call go that ended by itself: nothing is decided about its proposals any more.
func (c *call) part() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ended && c.parting {
		c.parting = false
		ring(c.told)
	}
}

// settle notes that an owner before has decided about a proposal.
func (c *call) settle(index int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.settled[index] = true
}

func (c *call) isSettled(index int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.settled[index]
}

// since gives what was proposed from an index on, and whether that is all there will be.
func (c *call) since(index int) (more []Proposal, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proposals[index:], c.done
}

// isOver tells that nobody waits for the call any more.
func (c *call) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.ended || c.left
}

// proposal gives one that there is.
func (c *call) proposal(index int) Proposal {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proposals[index]
}

// deliver sends what became of the proposals, until the call has ended.
func (c *call) deliver() error {
	for {
		batch, ended, result := c.next()
		for _, m := range batch {
			if err := c.caller.Deliver(m); err != nil {
				return err
			}
		}
		if len(batch) > 0 {
			continue
		}
		if ended {
			return result
		}
		select {
		case <-c.told:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

func (c *call) next() (batch []Accepted, ended bool, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	batch, c.outbox = c.outbox, nil
	return batch, c.ended && !c.parting, c.result
}

// leave ends the match function, waits until it has, and lets all that was kept go.
func (c *call) leave() {
	c.cancel()
	c.mu.Lock()
	c.left, c.done = true, true
	r := c.round
	c.mu.Unlock()
	c.running.Wait()
	c.engine.held.Add(-int64(c.bytes))
	c.engine.forget(c)
	if r != nil {
		ring(r.woken)
	}
}
