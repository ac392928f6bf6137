// Package explainer reads the input of an explanation from the database, in short statements: no transaction stays open
// while an operator waits, and the worker that decides is not involved. match/explain makes the explanation.
//
//	explainer.go  the reader, and how many explanations run at a time
//	ticket.go     why a ticket waits
//	profiles.go   the profiles that an explanation compares
//	lacking.go    which waiting tickets no match can have
//	match.go      why a match was made
package explainer

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// Store has the reads of explanations; [db.Store] implements it.
type Store interface {
	AnyTicket(ctx context.Context, region, id string) (db.PlayerTicket, error)
	TicketOutcomes(ctx context.Context, universe string, ids []string, since time.Time) ([]db.TicketOutcome, error)
	ReadCandidates(ctx context.Context, universe, after string) (page []db.Candidate, full bool, err error)
	Profiles(ctx context.Context, list db.ProfileQuery) ([]db.ProfileInfo, error)
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
	HostRegions(ctx context.Context, modes []string) ([]db.HostRegion, error)
	HeldSeats(ctx context.Context, regions, subs []string, created time.Time) ([]db.HeldSeat, error)
	JoinableMatches(ctx context.Context, universe string, profiles []string) ([]db.JoinableMatch, error)
	ExplainMatch(ctx context.Context, universe string, id uuid.UUID) (db.KnownMatch, error)
	Now() time.Time
}

// Options configure a Reader. Store and Universe are required.
type Options struct {
	Store     Store
	Universe  string
	PlayerArg string // the string_arg that names the player of a ticket of Open Match; "": none
	// MaxCandidates bounds how many other tickets an explanation reads; 0 means 200,000.
	MaxCandidates int
}

// Reader explains tickets and matches. It is safe for concurrent use. It explains one ticket or makes one survey at a
// time, since each takes a core for up to two seconds; other calls wait until their context ends.
type Reader struct {
	Options Options

	runningSlot chan struct{} // holds a value while a ticket is explained or a survey made
}

// New returns a Reader.
func New(o Options) *Reader {
	if o.MaxCandidates == 0 {
		o.MaxCandidates = 200_000
	}
	return &Reader{Options: o, runningSlot: make(chan struct{}, 1)}
}

// enterSlot waits until no other explanation runs, and makes others wait until leave is called. Errors: TooMany when
// the context ends first.
func (r *Reader) enterSlot(ctx context.Context) (leave func(), err error) {
	select {
	case r.runningSlot <- struct{}{}:
		return func() { <-r.runningSlot }, nil
	case <-ctx.Done():
		return nil, &fault.Error{
			Kind: fault.TooMany, Code: "too_many_queries", Detail: "this replica explains other tickets: call again",
			RetryAfter: time.Second, Err: ctx.Err(),
		}
	}
}
