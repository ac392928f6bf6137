package cycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match"
)

// Caller is one FetchMatches call. [Engine.Fetch] calls its methods, none of them after it has returned.
type Caller interface {
	// Run calls the match function, and propose for each match that it proposes. Run ends when propose returns an
	// error, and soon after ctx ends. Its error is returned to the caller; the proposals before it count.
	Run(ctx context.Context, propose func(Proposal) error) error
	// Deliver sends a match to the caller. It may block: no other call waits for it. Its error ends the call.
	Deliver(m Accepted) error
}

// Proposal is a match that a match function proposes.
type Proposal struct {
	match.Proposal // Backfill is the id of an existing backfill; empty: no backfill, or one to be created

	Generation   int64  // of the existing backfill, as the match function saw it
	BackfillBody []byte // an openmatch.Backfill, as the match function sent it; nil: the match has none
	Match        []byte // an openmatch.Match, as the match function sent it
	// Unreadable: the match has a score that cannot be decoded. The default evaluator does not get such a proposal.
	Unreadable bool
}

// Accepted is a match that is committed: its tickets are pending.
type Accepted struct {
	Proposal Proposal

	Mark            []byte       // what its tickets store of it; see [db.MarkedTickets]
	CreatedBackfill *db.Backfill // created for this match; nil: none was
}

// Evaluator chooses among the proposals of a cycle.
type Evaluator interface {
	// Evaluate reads proposals from in until it is closed, and calls accept with the ids of those that become matches,
	// at any time, best first. It ends when accept returns an error, and soon after ctx ends. Its error fails the cycle
	// for all callers.
	Evaluate(ctx context.Context, in <-chan Proposal, accept func(id string) error) error
}

const (
	stepTimeout  = 5 * time.Second // of one step's statements
	leaveTimeout = time.Second     // of the last statements of a round
	maxCalls     = 4096            // calls of Fetch at a time
)

// Engine runs the cycles of a region, together with the engines of other replicas. It is safe for concurrent use.
type Engine struct {
	options Options

	customEvaluator bool
	metrics         *metrics
	proposalBytes   atomic.Int64   // bytes of proposals
	goroutines      sync.WaitGroup // rounds, evaluators and renewals of leases

	callArrived chan struct{} // wakes Run: a call waits for a cycle
	joiningLock sync.Mutex    // held from the statement that puts calls into a cycle until their round has them

	mu           sync.Mutex
	callCount    int
	waitingCalls []*call
	roundByID    map[uuid.UUID]*round
	isClosed     bool
}

// New makes an engine that does nothing until [Engine.Run]. Errors: a required option is missing; the metrics are
// already registered.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Region == "" || o.Replica == uuid.Nil {
		return nil, errors.New("cycle: a store, a region and the replica's id are required")
	}
	customEvaluator := o.Evaluator != nil
	o = o.withDefaults()
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Engine{
		options: o, customEvaluator: customEvaluator, metrics: m, roundByID: map[uuid.UUID]*round{},
		callArrived: make(chan struct{}, 1),
	}, nil
}

// Fetch takes part in the next cycle and returns when that has ended for this caller. Errors: ctx's; the error of
// Deliver; [*Error]; a *fault.Error of kind Unavailable when the cycle could not be run and nothing was delivered.
func (e *Engine) Fetch(ctx context.Context, caller Caller) error {
	c := newCall(ctx, e, caller)
	if err := e.enqueueCall(c); err != nil {
		c.cancel()
		return err
	}
	defer c.leaveCycle()
	return c.deliverMatches()
}

// doInStep calls fn in a goroutine of the engine, with the deadline of a step. A panic of fn becomes an error.
func (e *Engine) doInStep(ctx context.Context, goroutine string, fn func(context.Context) error) error {
	return e.options.Guard.Do(goroutine, func() error { return inStep(ctx, fn) })
}

// inStep calls fn with the deadline of a step.
func inStep(ctx context.Context, fn func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, stepTimeout)
	defer cancel()
	return fn(ctx)
}
