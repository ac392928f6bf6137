package replayer

import (
	"context"
	"errors"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match/replay"
)

// Store is what a replay reads; [db.Store] implements it.
type Store interface {
	CandidatesAfter(ctx context.Context, universe, after string) (page []db.Candidate, full bool, err error)
	PastTickets(ctx context.Context, p db.PastRange, f func(query.ReplayTicketsRow) error) error
	PastMatches(ctx context.Context, p db.PastRange, f func(query.ReplayMatchesRow) error) error
	PastVersions(ctx context.Context, p db.PastRange) ([]query.ReplayVersionsRow, error)
	PastRegions(ctx context.Context, p db.PastRange) ([]string, error)
	PastShortages(ctx context.Context, p db.PastRange, longer time.Duration) ([]query.ReplayShortagesRow, error)
	HistoryBegins(ctx context.Context, region string) (time.Time, error)
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
}

// history reads the history of a profile.
type history struct {
	// ctx is that of Input: the iterators of a replay are given none.
	ctx              context.Context
	store            Store
	pastRange        db.PastRange
	neededAttributes needs

	recording       Recording
	waitingArrivals []replay.Arrival // tickets that wait, by creation
	isWaiting       map[string]bool  // the ids of waitingArrivals
}

// errEnough ends a reading of PastTickets or PastMatches: the function that gets the rows returns it.
var errEnough = errors.New("enough was read")

// Recording is how workers read tickets and record them, so that tickets that still wait are like those in the history.
// The zero value is that of workers with default settings.
type Recording struct {
	PlayerArg string // as in loop.Options
	Privacy   ticketbody.Privacy
}

// stillWaits stands for the outcome of a ticket that has none yet.
const stillWaits = ""
