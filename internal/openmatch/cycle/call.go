package cycle

import (
	"context"
	"errors"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/wait"
)

// callState is the state of a call. It only advances. The package comment has the diagram.
type callState int

const (
	stateWaiting callState = iota
	stateProposing
	stateProposed
	stateFailing
	stateEnded
	stateLeft
)

// joinedCycle is what a call knows of the cycle that it has joined.
type joinedCycle struct {
	ref           db.CycleRef
	changed       chan struct{} // wakes the round: the call has another state
	proposalAdded chan struct{} // wakes the round: the call has a new proposal
}

// call is one call of Fetch. The goroutine of Fetch, the match function's and the round's share it.
type call struct {
	resources    *resources
	caller       Caller
	id           uuid.UUID       // in the cycle; set when the call joins one
	ctx          context.Context // ends when Fetch returns
	cancel       context.CancelFunc
	changed      chan struct{}  // wakes Fetch
	functionDone sync.WaitGroup // the match function's goroutine

	mu           sync.Mutex
	state        callState
	joined       *joinedCycle       // nil in stateWaiting
	stopFunction context.CancelFunc // cancels the match function
	matchIDs     map[string]bool    // of all matches that the function has proposed
	proposals    []*candidate
	heldBytes    int        // the memory of the proposals, as chargeProposal counts it
	mmfErr       error      // of the match function
	outbox       []Accepted // matches to deliver
	anyMatch     bool       // at least one match was accepted
	result       error      // what Fetch returns; set by stateFailing or stateEnded
}

func newCall(ctx context.Context, shared *resources, caller Caller) *call {
	c := &call{resources: shared, caller: caller, changed: make(chan struct{}, 1), matchIDs: map[string]bool{}}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// advanceTo moves the call to a later state. It returns false where the call is already in that state or a later one.
// The match function is canceled in every state after proposing. The caller holds mu.
func (c *call) advanceTo(to callState) bool {
	if c.state >= to {
		return false
	}
	c.state = to
	if c.stopFunction != nil && to > stateProposing {
		c.stopFunction()
	}
	wait.Wake(c.changed)
	if c.joined != nil {
		wait.Wake(c.joined.changed)
	}
	return true
}

// startFunction starts the match function for a cycle, unless the call has ended before.
func (c *call) startFunction(in *joinedCycle) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.joined = in
	if !c.advanceTo(stateProposing) {
		return
	}
	ctx, stop := context.WithCancel(c.ctx)
	c.stopFunction = stop
	c.functionDone.Go(func() {
		defer stop()
		c.finishProposing(c.resources.options.Guard.Do("match function",
			func() error { return c.caller.Run(ctx, c.addProposal) }))
	})
}

// finishProposing ends proposing. err is the match function's; only the first one counts.
func (c *call) finishProposing(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.advanceTo(stateProposed) {
		c.mmfErr = err
	}
}

// end ends the call; err is the cycle's. Fetch returns once it has delivered all matches.
func (c *call) end(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A call that has failed by itself keeps its own error.
	if c.state < stateFailing {
		c.result = c.resultAfter(err)
	}
	c.advanceTo(stateEnded)
}

// resultAfter returns what Fetch returns when the cycle has ended with err.
func (c *call) resultAfter(err error) error {
	known, isDB := errors.AsType[*fault.Error](err)
	switch {
	// Nothing was delivered, so that the caller may call again after this error.
	case isDB && !c.anyMatch:
		return err
	case isDB:
		return &Error{SyncErr: errors.New(known.Detail), MMFErr: c.mmfErr}
	case err != nil || c.mmfErr != nil:
		return &Error{SyncErr: err, MMFErr: c.mmfErr}
	}
	return nil
}

// fail ends the call by itself. Fetch does not return before the round has called end, because matches of the call may
// be committed right now. The caller holds mu.
func (c *call) fail(err error) {
	if c.advanceTo(stateFailing) {
		c.result = &Error{SyncErr: err, MMFErr: c.mmfErr}
	}
}

// isOver reports whether the caller waits for no more matches.
func (c *call) isOver() bool { return c.currentState() >= stateFailing }

// isProposing reports whether more proposals may follow.
func (c *call) isProposing() bool { return c.currentState() == stateProposing }

func (c *call) currentState() callState {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state
}

// queueAccepted queues a match for delivery.
func (c *call) queueAccepted(m Accepted) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.anyMatch = true
	m.Mark = c.joined.ref.Mark(m.Proposal.ID)
	c.outbox = append(c.outbox, m)
	wait.Wake(c.changed)
}

// deliverMatches delivers matches until the call has ended.
func (c *call) deliverMatches() error {
	for {
		// Matches and end are read under one lock, so that no match can be queued between the last delivery and the end.
		matches, isEnded, result := c.takeMatches()
		for _, m := range matches {
			if err := c.caller.Deliver(m); err != nil {
				return err
			}
		}
		if isEnded {
			return result
		}
		select {
		case <-c.changed:
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
	}
}

func (c *call) takeMatches() (matches []Accepted, isEnded bool, result error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	matches, c.outbox = c.outbox, nil
	return matches, c.state == stateEnded, c.result
}

// leave cancels the match function, waits until it has ended, and releases the call's memory.
func (c *call) leave() {
	c.cancel()
	c.mu.Lock()
	c.advanceTo(stateLeft)
	c.mu.Unlock()
	// The function may propose until it has ended, which takes memory.
	c.functionDone.Wait()
	c.resources.release(c.heldBytes)
}

// proposalsAfter returns the proposals after the first n, and whether no more will follow.
func (c *call) proposalsAfter(n int32) (more []*candidate, complete bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.proposals[n:], c.state >= stateProposed
}
