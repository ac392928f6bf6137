package functions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/openmatch/cycle"
)

// Options configure a [Matchmaker]. Store and Universe are required; every other zero value is usable. All processes of a
// universe must have the same Registration, Collection and Evaluator.
type Options struct {
	Store    cycle.Store
	Universe string // of the queue
	// Registration is how long calls may join the cycle that the first of them opened; 0: only the calls that open a
	// cycle are in it.
	Registration time.Duration
	// Collection is how long match functions may run after Registration; 0 means 20 s.
	Collection time.Duration
	// Evaluator is the evaluator's URL: "grpc://host:port" or "http://host:port", or the same with grpcs or https; ""
	// means the default evaluator.
	Evaluator string
	// Functions are the hosts ("mmf.example", "*.mmf.svc.cluster.local") and networks (CIDRs) that match functions may
	// be on.
	Functions []string
	// Loopback allows match functions on loopback though Functions does not list it.
	Loopback bool
	// FunctionCA is a PEM file with the authority of the certificates of match functions, which are then called with
	// TLS, and of the evaluator. "" means that match functions are called in plain text, and that the system's
	// authorities verify an evaluator.
	FunctionCA string
	// MaxBackfill bounds, in bytes, the backfill of a match; 0 means 64 KiB.
	MaxBackfill int
	// Memory bounds, in bytes, the proposals of running calls; 0 means 512 MiB.
	Memory int64

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
	Tracer  trace.TracerProvider  // nil: no traces
	Guard   *panics.Guard         // of goroutines that belong to no call; nil: one that writes to Log
}

func (o Options) withDefaults() Options {
	o.Collection = cmp.Or(o.Collection, 20*time.Second)
	o.MaxBackfill = cmp.Or(o.MaxBackfill, 64<<10)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	o.Guard = cmp.Or(o.Guard, panics.New(o.Log, nil))
	return o
}

// Matchmaker runs the cycles of a region, and calls match functions and the evaluator for them. Make one with [New],
// run its engine once, and Close it. It is safe for concurrent use.
type Matchmaker struct {
	Engine *cycle.Engine

	functions      *functions
	collectionTime time.Duration
	maxBackfill    int
	log            *slog.Logger
}

// New makes a matchmaker that does nothing until it runs. Errors: an option is missing or invalid; the metrics are
// already registered.
func New(options Options) (*Matchmaker, error) {
	o := options.withDefaults()
	f, err := newFunctions(o)
	if err != nil {
		return nil, err
	}
	evaluator, err := f.newEvaluator(o.Evaluator) // nil for the default one
	if err != nil {
		return nil, err
	}
	engine, err := cycle.New(cycle.Options{
		Store: o.Store, Universe: o.Universe, Replica: uuid.New(), Registration: o.Registration, Collection: o.Collection,
		Evaluator: evaluator, Backfill: matchedBackfill, Log: o.Log, Metrics: o.Metrics, Guard: o.Guard,
		Memory: o.Memory,
	})
	if err != nil {
		return nil, err
	}
	f.limitMemory(engine)
	return &Matchmaker{Engine: engine, functions: f, collectionTime: o.Collection, maxBackfill: o.MaxBackfill,
		log: o.Log}, nil
}

// Close closes idle connections to user code at once, and the others after their calls.
func (m *Matchmaker) Close() { m.functions.closeIdle() }

// Propose calls the match function at an address for a profile, and propose with each match as it arrives, until
// propose returns an error. Errors: the function's own; the one that propose returned; the cause of ctx's end. A
// function that cannot be reached has the same error text for every cause, since the caller chose the address; the log
// has the cause.
func (m *Matchmaker) Propose(ctx context.Context, at *pb.FunctionConfig, profile *pb.MatchProfile,
	propose func(cycle.Proposal) error) error {
	unreadable, err := m.collectProposals(ctx, at, profile, func(*pb.Match) {}, propose)
	about := slog.Group("match_function", slog.String("profile", profile.GetName()), slog.String("host", at.GetHost()),
		slog.Int("port", int(at.GetPort())))
	if unreadable > 0 {
		m.log.LogAttrs(ctx, slog.LevelWarn, "a match function sets scores that cannot be decoded", about,
			slog.Int("matches", unreadable))
	}
	if err != nil && ctx.Err() == nil { // after the end of ctx the error says only that the call was canceled
		m.log.LogAttrs(ctx, slog.LevelWarn, "a match function failed", about, slog.Any("error", operatorCause(err)))
	}
	return err
}

// collectProposals calls a match function, and for each match first prepare, and then propose. unreadable is how many
// matches have a score that cannot be decoded.
func (m *Matchmaker) collectProposals(ctx context.Context, at *pb.FunctionConfig, profile *pb.MatchProfile,
	prepare func(*pb.Match), propose func(cycle.Proposal) error) (unreadable int, err error) {
	err = m.functions.callFunction(ctx, at, profile, func(sent *pb.Match) error {
		if sent != nil {
			prepare(sent)
		}
		p, err := convertProposal(sent, m.maxBackfill)
		if err != nil {
			return err
		}
		if p.Unreadable {
			unreadable++
		}
		return propose(p)
	})
	return unreadable, err
}

var errUnlisted = errors.New("the match function's address is not allowed: list it in DIRECTOR_OM_FUNCTIONS")

// operatorCause returns the cause of a match function's error, which only operators may see.
func operatorCause(err error) error {
	if unreachable, ok := errors.AsType[*unreachableError](err); ok {
		err = unreachable.cause
	}
	if errors.Is(err, errNotAllowed) {
		return errUnlisted
	}
	return err
}
