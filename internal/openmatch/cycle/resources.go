package cycle

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

const (
	stepTimeout  = 5 * time.Second // of one step's statements
	leaveTimeout = time.Second     // of the last statements of a round
)

// resources are what an engine shares with its rounds and calls. They are safe for concurrent use.
type resources struct {
	options         Options
	customEvaluator bool
	metrics         *metrics
	proposalBytes   atomic.Int64   // the memory of the proposals of all calls
	goroutines      sync.WaitGroup // rounds, evaluators and renewals of leases
	joiningLock     sync.Mutex     // held from the statement that puts calls into a cycle until their round has them
}

// hold counts bytes against the bound of all proposals. Errors: the memory is in use, and nothing is counted.
func (s *resources) hold(bytes int) error {
	if s.proposalBytes.Add(int64(bytes)) > s.options.Memory {
		s.release(bytes)
		return errFull
	}
	return nil
}

func (s *resources) release(bytes int) { s.proposalBytes.Add(-int64(bytes)) }

// awaitJoining returns when the calls that have joined a cycle until now are in its round.
func (s *resources) awaitJoining() {
	s.joiningLock.Lock()
	s.joiningLock.Unlock() //nolint:gocritic,staticcheck // nothing to do under the lock
}

// doInStep calls fn with the deadline of a step. A panic of fn becomes an error, and is logged under the name of the
// goroutine.
func (s *resources) doInStep(ctx context.Context, goroutine string, fn func(context.Context) error) error {
	return s.options.Guard.Do(goroutine, func() error { return inStep(ctx, fn) })
}

// inStep calls fn with the deadline of a step.
func inStep(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return fn(ctx)
}
