package cycle

import (
	"context"

	"github.com/lattice-director/director/db"
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
	ID           string
	Score        *float64 // nil: none
	Tickets      []string
	Backfill     string // the id of an existing backfill; empty: no backfill, or one to be created
	Generation   int64  // of the existing backfill, as the match function saw it
	BackfillBody []byte // an openmatch.Backfill, as the match function sent it; nil: the match has none
	Match        []byte // an openmatch.Match, as the match function sent it
	// Unreadable says that the match has a score that cannot be decoded. The default evaluator does not get such a
	// proposal.
	Unreadable bool
}

// Accepted is a match that is committed: its tickets are pending.
type Accepted struct {
	Proposal Proposal

	Mark            []byte       // what its tickets store of it; see [db.MarkedTickets]
	CreatedBackfill *db.Backfill // created for this match; nil: none was
}

func (p Proposal) matchBackfill() *db.MatchBackfill {
	if p.BackfillBody == nil && p.Backfill == "" {
		return nil
	}
	return &db.MatchBackfill{ID: p.Backfill, Generation: p.Generation, Body: p.BackfillBody}
}
