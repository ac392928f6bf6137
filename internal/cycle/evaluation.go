package cycle

import (
	"context"
	"sync"

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

// evaluation is one run of the evaluator. The owner's goroutine feeds it; the evaluator's goroutine accepts.
type evaluation struct {
	in          chan Proposal
	inputClosed bool          // the owner's goroutine only
	queue       []Proposal    // that the evaluator has not read yet; the owner's goroutine only
	changed     chan struct{} // wakes the owner: the evaluator has accepted a match, or has ended
	cancel      context.CancelFunc

	mu       sync.Mutex
	ids      map[string]bool // of the matches in the input; true: accepted
	accepted []string        // not taken by the owner yet
	ended    bool
	err      error
}

// evaluate starts the engine's evaluator.
func (e *Engine) evaluate(ctx context.Context) *evaluation {
	v := &evaluation{in: make(chan Proposal, 256), changed: make(chan struct{}, 1), ids: map[string]bool{}}
	ctx, v.cancel = context.WithCancel(ctx)
	e.running.Go(func() {
		v.end(e.Guard.Do("evaluator", func() error {
			return e.Evaluator.Evaluate(ctx, v.in, func(id string) error { return v.accept(ctx, id) })
		}))
	})
	return v
}

// add queues a proposal for the evaluator.
func (v *evaluation) add(p Proposal) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ids[p.ID] = false
	v.queue = append(v.queue, p)
}

// next returns the channel and the proposal that the owner has to send next; the channel is nil where there is none.
func (v *evaluation) next() (in chan<- Proposal, p Proposal) {
	if len(v.queue) == 0 {
		return nil, p
	}
	return v.in, v.queue[0]
}

// feed sends what the evaluator takes without blocking.
func (v *evaluation) feed() {
	for len(v.queue) > 0 {
		select {
		case v.in <- v.queue[0]:
			v.queue = v.queue[1:]
		default:
			return
		}
	}
}

// closeInput closes the evaluator's input: no proposals follow.
func (v *evaluation) closeInput() {
	if !v.inputClosed {
		v.inputClosed = true
		close(v.in)
	}
}

// stop cancels the evaluator. Closing its input ends one that reads and ignores its context.
func (v *evaluation) stop() {
	v.cancel()
	v.closeInput()
}

func (v *evaluation) accept(ctx context.Context, id string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	accepted, known := v.ids[id]
	switch {
	case v.err != nil:
		return v.err
	case ctx.Err() != nil:
		return ctx.Err()
	case !known:
		v.err = errUnknownMatch(id)
	case accepted:
		v.err = errAcceptedTwice(id)
	default:
		v.ids[id] = true
		v.accepted = append(v.accepted, id)
	}
	wake(v.changed)
	return v.err
}

func (v *evaluation) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	if v.err == nil {
		v.err = err
	}
	wake(v.changed)
}

// takeAccepted returns the ids that were accepted since the last call, in the order of acceptance.
func (v *evaluation) takeAccepted() (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids, v.accepted = v.accepted, nil
	return ids
}

// state reports whether the evaluator has ended, and its error.
func (v *evaluation) state() (ended bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended, v.err
}
