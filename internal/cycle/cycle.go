// Package cycle runs FetchMatches: callers on all replicas of a region propose matches, one evaluator sees what they
// propose together, and what it accepts becomes final in one place, so that no ticket is in two matches. It knows no
// protocol: the face brings callers, which run a match function and send what became of its proposals, and an evaluator.
// What is decided about tickets is decided in db, under locks, by match.Keep.
//
// A region has one cycle at a time, a row in match_cycles, which the first caller's replica opens and owns:
//
//	registering ──▶ collecting ──▶ evaluating ──▶ ended
//	callers join    those who      nothing more   all have been told
//	and propose     joined propose is let in      and the next may begin
//
// A file per part: cycle.go is the engine, door.go puts callers into cycles, call.go is one caller, round.go a cycle as
// this replica takes part in it; owner.go runs it (gather.go learns what is proposed, evaluate.go has it judged, accept.go
// makes it final), or follower.go speaks to the replica that does, over rows (travel.go), until that one falls silent and
// it becomes the owner itself. Each round is one goroutine, and everything it waits for is a channel. Owners and followers
// keep matches in memory; a row says no more of one than the other side needs.
//
// Who dies takes its own callers with it and nothing else. Marks on tickets are committed before anybody hears of a match;
// what was marked for callers who are gone waits until the mark is void.
package cycle

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/panics"
	"github.com/lattice-director/director/match"
)

// Options say whose cycles an engine runs. Store, Region and Replica are required. Replicas of a region must agree on the
// durations and on the evaluator.
type Options struct {
	Store   *db.Store
	Region  string
	Replica uuid.UUID // of this process, and of no other before it

	// Registration is how long callers may join a cycle; 0: nobody may but those who open it, who wait for nobody.
	Registration time.Duration
	// Collection is how long match functions may run after that; 0 means 20 s.
	Collection time.Duration
	// Evaluation is how long the evaluator may take once it has been given everything; 0 means one minute.
	Evaluation time.Duration
	// Acceptance is how long a cycle goes on making matches final once the evaluator has ended; 0 means 2 s. It makes one
	// batch final in any case. The matches that are left are counted as out_of_time and are as if they were not accepted.
	Acceptance time.Duration
	// Lease is how long an owner may be silent before another replica goes on with its cycle; 0 means 2 s.
	Lease time.Duration

	// Memory bounds, in bytes, the proposals of all calls on this replica; 0 means 512 MiB.
	Memory int64

	Evaluator Evaluator // nil: match.Evaluate
	// Backfill says what a backfill is after a match; nil: matches with one are dropped. See [db.ReadBackfill].
	Backfill db.ReadBackfill

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
	Guard   *panics.Guard         // recovers panics of the engine, match functions and the evaluator; nil: one that writes to Log
}

func (o Options) withDefaults() Options {
	if o.Collection == 0 {
		o.Collection = 20 * time.Second
	}
	if o.Evaluation == 0 {
		o.Evaluation = time.Minute
	}
	if o.Acceptance == 0 {
		o.Acceptance = 2 * time.Second
	}
	if o.Lease == 0 {
		o.Lease = 2 * time.Second
	}
	if o.Memory == 0 {
		o.Memory = 512 << 20
	}
	if o.Evaluator == nil {
		o.Evaluator = byScore{}
	}
	if o.Backfill == nil {
		o.Backfill = func([]byte, *db.Backfill) (db.NewBackfill, error) {
			return db.NewBackfill{}, errors.New("backfills are not understood here")
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Guard == nil {
		o.Guard = panics.New(o.Log, nil)
	}
	return o
}

// Caller is one call that wants matches. Its methods are not called any more when [Engine.Fetch] has returned.
type Caller interface {
	// Run calls the match function, and propose for each match that it proposes; when propose returns an error, no more is
	// wanted. It ends soon after ctx has. Its error is told the caller, and what was proposed before it counts.
	Run(ctx context.Context, propose func(Proposal) error) error
	// Deliver sends a match. It may be slow: nobody else waits for it. Its error ends the call.
	Deliver(m Accepted) error
}

// Proposal is a match that a match function proposes.
type Proposal struct {
	match.Proposal // Backfill names one that exists; it is empty where there is none, or one is to be created

	Generation   int64  // of the backfill that exists, as the match function saw it
	BackfillBody []byte // an openmatch.Backfill, as the match function sent it; nil: the match has none
	Match        []byte // an openmatch.Match, as the match function sent it
	// Unreadable says that there is a score which cannot be read. The default evaluator is not shown such a proposal.
	Unreadable bool
}

// Accepted is a match whose tickets are pending.
type Accepted struct {
	Proposal

	CreatedBackfill *db.Backfill // the one that was created for it; nil: none was
}

// Evaluator judges what is proposed in a cycle.
type Evaluator interface {
	// Evaluate reads proposals from in until it is closed and calls accept with the ids of those that become matches, at any
	// time, best first. What accept returns ends it. It ends soon after ctx has. Its error fails the cycle for all callers.
	Evaluate(ctx context.Context, in <-chan Proposal, accept func(id string) error) error
}

// Bounds of what callers may make a replica keep.
const (
	maxCalls     = 4096     // calls of Fetch at a time
	maxProposals = 100_000  // of a caller
	maxBytes     = 64 << 20 // of a caller's proposals
	maxMatchID   = 4 << 10  // bytes: each ticket of a match carries its id
	maxMarks     = 16 << 20 // bytes that the tickets of a match carry: all are written in one transaction
)

// Engine runs the cycles of a region, together with the engines of other replicas. It is safe for concurrent use.
type Engine struct {
	Options

	outside bool // the evaluator is not the default one
	metrics *metrics
	held    atomic.Int64   // bytes of proposals
	tidied  atomic.Int64   // when old cycles were forgotten, in Unix nanoseconds
	running sync.WaitGroup // rounds and what they started

	arrived  chan struct{} // somebody waits at the door
	again    chan struct{} // a cycle of this replica is over
	entering sync.Mutex    // while callers enter a cycle, until their round has them

	mu      sync.Mutex
	calls   int
	waiting []*call
	rounds  map[uuid.UUID]*round
	closed  bool
}

// New makes an engine that does nothing until [Engine.Run]. Errors: an option that is missing; metrics that are
// registered already.
func New(o Options) (*Engine, error) {
	if o.Store == nil || o.Region == "" || o.Replica == uuid.Nil {
		return nil, errors.New("cycle: a store, a region and the replica's id are required")
	}
	m, err := newMetrics(o.Metrics)
	if err != nil {
		return nil, err
	}
	return &Engine{
		Options: o.withDefaults(), outside: o.Evaluator != nil, metrics: m, rounds: map[uuid.UUID]*round{},
		arrived: make(chan struct{}, 1), again: make(chan struct{}, 1),
	}, nil
}

// Fetch takes part in a cycle and returns when it is over for this caller. Errors: ctx's; the caller's own from Deliver;
// [*Error]; a db.Error that is Unavailable, when the cycle could not be decided and nothing was delivered.
func (e *Engine) Fetch(ctx context.Context, caller Caller) error {
	c := newCall(ctx, e, caller)
	defer c.leave()
	if err := e.wait(c); err != nil {
		return err
	}
	return c.deliver()
}

func unavailable(detail string) error {
	return &db.Error{Kind: db.Unavailable, Code: "unavailable", Detail: detail, RetryAfter: time.Second}
}

// ring puts something into a channel of one, unless there is something.
func ring(bell chan struct{}) {
	select {
	case bell <- struct{}{}:
	default:
	}
}

// patience bounds what one step asks of the database.
const patience = 5 * time.Second

// parting bounds what is said to the database by somebody who leaves.
const parting = time.Second
