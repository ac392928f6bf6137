package cycle

import (
	"context"
	"fmt"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/wait"
)

// evaluation is one run of the evaluator. It is safe for concurrent use.
type evaluation struct {
	cancelEvaluator context.CancelFunc
	changed         chan struct{} // wakes the owner: the evaluator has accepted a match, or has ended
	inputQueued     chan struct{} // wakes feedEvaluator: proposals are queued, or no more follow

	mu            sync.Mutex
	candidates    map[string]*candidate // by match id; nil: an earlier owner has decided about it
	inputQueue    []Proposal            // for the evaluator
	isComplete    bool                  // no more proposals follow
	acceptedQueue queue                 // matches to commit
	hasEnded      bool
	err           error // why the cycle fails for all callers
}

// startEvaluation starts the engine's evaluator.
func (r *round) startEvaluation(ctx context.Context) *evaluation {
	v := &evaluation{
		changed: r.changed, inputQueued: make(chan struct{}, 1), candidates: map[string]*candidate{},
		acceptedQueue: queue{byCaller: map[uuid.UUID][]*candidate{}},
	}
	ctx, v.cancelEvaluator = context.WithCancel(ctx)
	in := make(chan Proposal, 256)
	r.resources.goroutines.Go(func() { v.feedEvaluator(ctx, in) })
	r.resources.goroutines.Go(func() {
		accept := func(id string) error { return v.acceptMatch(ctx, id) }
		// A panic of the operator's evaluator fails this cycle, and no other.
		v.end(r.resources.options.Guard.Do("evaluator", func() error {
			return r.resources.options.Evaluator.Evaluate(ctx, in, accept)
		}))
	})
	return v
}

// feedEvaluator sends queued proposals to the evaluator, and closes its input when no more follow. It also closes the
// input when ctx ends: an evaluator may read and ignore its context.
func (v *evaluation) feedEvaluator(ctx context.Context, in chan<- Proposal) {
	defer close(in)
	for complete := false; !complete; {
		select {
		case <-v.inputQueued:
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
	more, v.inputQueue = v.inputQueue, nil
	return more, v.isComplete
}

// addCandidate queues a candidate for the evaluator, unless an earlier owner has decided about it.
func (v *evaluation) addCandidate(c *candidate) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, used := v.candidates[c.proposal.ID]; used {
		v.failCycle(fmt.Errorf(sameOfTwo, c.proposal.ID))
		return
	}
	v.candidates[c.proposal.ID] = nil
	if !c.isDecided {
		v.candidates[c.proposal.ID] = c
		v.inputQueue = append(v.inputQueue, c.proposal)
		wait.Wake(v.inputQueued)
	}
}

// completeInput ends the evaluator's input: no more proposals follow.
func (v *evaluation) completeInput() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.isComplete = true
	wait.Wake(v.inputQueued)
}

// acceptMatch takes the id of a match that the evaluator accepts.
func (v *evaluation) acceptMatch(ctx context.Context, id string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	// If the cycle has failed already, its error ends the evaluator.
	if v.err != nil {
		return v.err
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	switch c := v.candidates[id]; {
	case c == nil:
		v.failCycle(fmt.Errorf(unknownMatch, id))
	case c.isAccepted:
		v.failCycle(fmt.Errorf(acceptedTwice, id))
	default:
		c.isAccepted = true
		v.acceptedQueue.addCandidate(c)
		wait.Wake(v.changed)
	}
	return v.err
}

// nextAccepted takes a batch of accepted matches, and returns how many are left.
func (v *evaluation) nextAccepted(limit int) (batch []*candidate, left int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	batch = v.acceptedQueue.takeBatch(limit)
	return batch, v.acceptedQueue.matchCount
}

// end cancels the evaluator and sets its error. Only the first call counts.
func (v *evaluation) end(err error) {
	v.cancelEvaluator()
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.hasEnded {
		return
	}
	v.hasEnded = true
	if err != nil {
		v.failCycle(err)
	}
	wait.Wake(v.changed) // the owner has to see that the evaluator has ended
}

// failCycle fails the cycle for all callers. Of several errors the first one counts. The caller holds mu.
func (v *evaluation) failCycle(err error) {
	if v.err == nil {
		v.err = err
	}
	wait.Wake(v.changed)
}

// currentState reports whether the evaluator has ended, and why the cycle fails.
func (v *evaluation) currentState() (ended bool, failure error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.hasEnded, v.err
}
