package cycle

import (
	"context"
	"sync"

	"github.com/lattice-director/director/match"
)

// byScore is the default evaluator.
type byScore struct{}

// Evaluate implements [Evaluator]: it reads everything before it accepts anything.
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

// evaluation is one run of an evaluator, as the owner of the cycle sees it.
type evaluation struct {
	in       chan Proposal // the owner closes it
	progress chan struct{} // rings when something was accepted, or the evaluator has ended
	cancel   context.CancelFunc

	mu       sync.Mutex
	ids      map[string]bool // of all it is given, and whether it accepted them
	accepted []string        // that nobody has taken yet
	ended    bool
	err      error
}

// evaluate starts the engine's evaluator, which is one of the engine's goroutines until it has ended.
func (e *Engine) evaluate(ctx context.Context) *evaluation {
	v := &evaluation{in: make(chan Proposal, 256), progress: make(chan struct{}, 1), ids: map[string]bool{}}
	ctx, v.cancel = context.WithCancel(ctx)
	e.running.Go(func() {
		v.end(e.Guard.Do("evaluator", func() error {
			return e.Evaluator.Evaluate(ctx, v.in, func(id string) error { return v.accept(ctx, id) })
		}))
	})
	return v
}

// show says that the evaluator will be given a match. It is false when there is one of that id.
func (v *evaluation) show(id string) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.ids[id]; known {
		return false
	}
	v.ids[id] = false
	return true
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
	ring(v.progress)
	return v.err
}

func (v *evaluation) end(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.ended = true
	if v.err == nil {
		v.err = err
	}
	ring(v.progress)
}

// take gives what was accepted since the last time, in its order.
func (v *evaluation) take() (ids []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	ids, v.accepted = v.accepted, nil
	return ids
}

// state tells whether the evaluator has ended, and what went wrong.
func (v *evaluation) state() (ended bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.ended, v.err
}
