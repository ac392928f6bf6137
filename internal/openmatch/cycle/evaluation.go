package cycle

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/match"
)

// byScore is the default evaluator.
type byScore struct{}

// Evaluate implements [Evaluator]: it reads all proposals before it accepts one.
func (byScore) Evaluate(_ context.Context, in <-chan Proposal, accept func(id string) error) error {
	var all []match.Proposal
	for p := range in {
		all = append(all, p.Proposal)
	}
	for _, id := range match.Evaluate(all) {
		if err := accept(id); err != nil {
			return err
		}
	}
	return nil
}

// evaluation is one run of the evaluator. It is safe for concurrent use.
type evaluation struct {
	cancel  context.CancelFunc
	changed chan struct{} // wakes the owner: the evaluator has accepted a match, or has ended
	queued  chan struct{} // wakes feed: proposals are queued, or no more follow

	mu         sync.Mutex
	candidates map[string]*candidate // by match id; nil: an earlier owner has decided about it
	queue      []Proposal            // for the evaluator
	isComplete bool                  // no more proposals follow
	accepted   queue                 // matches to commit
	ended      bool
	err        error // why the cycle fails for all callers
}

// evaluate starts the engine's evaluator.
func (r *round) evaluate(ctx context.Context) *evaluation {
	v := &evaluation{
		changed: r.changed, queued: make(chan struct{}, 1), candidates: map[string]*candidate{},
		accepted: queue{byCaller: map[uuid.UUID][]*candidate{}},
	}
	ctx, v.cancel = context.WithCancel(ctx)
	in := make(chan Proposal, 256)
	r.engine.running.Go(func() { v.feed(ctx, in) })
	r.engine.running.Go(func() {
		v.end(r.engine.options.Guard.Do("evaluator", func() error {
			return r.engine.options.Evaluator.Evaluate(ctx, in, func(id string) error { return v.accept(ctx, id) })
		}))
	})
	return v
}

// feed sends queued proposals to the evaluator, and closes its input when no more follow. It also closes the input when
// ctx ends: an evaluator may read and ignore its context.
func (v *evaluation) feed(ctx context.Context, in chan<- Proposal) {
	defer close(in)
	for complete := false; !complete; {
		select {
		case <-v.queued:
		case <-ctx.Done():
			return
		}
		var more []Proposal
		more, complete = v.takeQueue()
		for _, p := range more {
			select {
			case in <- p:
			case <-ctx.Done():
				return
			}
		}
	}
}

func (v *evaluation) takeQueue() (more []Proposal, complete bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	more, v.queue = v.queue, nil
	return more, v.isComplete
}

// add queues a candidate for the evaluator, unless an earlier owner has decided about it.
func (v *evaluation) add(c *candidate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, used := v.candidates[c.ID]; used {
		v.fail(fmt.Errorf(sameOfTwo, c.ID))
		return
	}
	v.candidates[c.ID] = nil
	if !c.isDecided {
		v.candidates[c.ID] = c
		v.queue = append(v.queue, c.Proposal)
		wait.Wake(v.queued)
	}
}

// complete ends the evaluator's input: no more proposals follow.
func (v *evaluation) complete() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.isComplete = true
	wait.Wake(v.queued)
}

// accept takes the id of a match that the evaluator accepts.
func (v *evaluation) accept(ctx context.Context, id string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	c := v.candidates[id]
	switch {
	case v.err != nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case c == nil:
		v.fail(fmt.Errorf(unknownMatch, id))
	case c.accepted:
		v.fail(fmt.Errorf(acceptedTwice, id))
	default:
		c.accepted = true
		v.accepted.add(c)
		wait.Wake(v.changed)
	}
	return v.err
}

// nextAccepted takes a batch of accepted matches, and returns how many are left.
func (v *evaluation) nextAccepted(limit int) (batch []*candidate, left int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	batch = v.accepted.next(limit)
	return batch, v.accepted.size
}

// end cancels the evaluator and sets its error. Only the first call counts.
func (v *evaluation) end(err error) {
	v.cancel()
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.ended {
		v.ended = true
		v.fail(err)
	}
}

// fail fails the cycle for all callers, by the first error. The caller holds mu.
func (v *evaluation) fail(err error) {
	if v.err == nil {
		v.err = err
	}
	wait.Wake(v.changed)
}

// state reports whether the evaluator has ended, and why the cycle fails.
func (v *evaluation) state() (ended bool, failure error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended, v.err
}
