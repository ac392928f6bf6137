package loop

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/match/estimate"
)

// Store is what the loop needs of the database; [db.Store] implements it.
type Store interface {
	owners
	tickets
	matches
	HostRegions(ctx context.Context, modes []string) ([]db.HostRegion, error)
	PutDemand(ctx context.Context, universe string, profiles []string, demand []db.Demand) error
	WaitingTimes(ctx context.Context, universe string) (map[string][]db.WaitingTime, error)
	PutWaitingTimes(ctx context.Context, universe string, times map[string][]db.WaitingTime,
		calibrations map[string]estimate.CalibrationCounts) error
	Subscribe(topic, region string) (wake <-chan struct{}, stop func())
	Now() time.Time
}

// owners has the calls about profiles and the workers that own them.
type owners interface {
	RenewLoopWorker(ctx context.Context, w db.LoopWorker, lease time.Duration) error
	EndLoopWorker(ctx context.Context, id uuid.UUID) error
	LoopWorkers(ctx context.Context) ([]db.LoopWorker, error)
	ProfileOwners(ctx context.Context, universe string) ([]db.ProfileOwner, error)
	TakeProfiles(ctx context.Context, universe string, worker uuid.UUID,
		names []string) (epochs map[string]int64, err error)
	GiveUpProfile(ctx context.Context, universe string, worker uuid.UUID, name string) error
	Profile(ctx context.Context, region, name string, version int) (db.ProfileVersion, error)
	ProfileDocuments(ctx context.Context, region string,
		versions map[string]int) (documents map[string]string, err error)
	RecordShadow(ctx context.Context, region string, m db.ShadowMatches) error
}

// tickets has the calls about the queue.
type tickets interface {
	FeedEnd(ctx context.Context) (db.FeedPoint, error)
	CandidatesAfter(ctx context.Context, universe, after string) (page []db.Candidate, full bool, err error)
	NewestCandidates(ctx context.Context, universe string, most int) ([]db.Candidate, error)
	CandidateIDsAfter(ctx context.Context,
		universe, after string) (page []query.CandidateIDsAfterRow, full bool, err error)
	Candidates(ctx context.Context, universe string, ids []string) ([]db.Candidate, error)
	CandidatesSince(ctx context.Context, universe string, since db.FeedPoint) (db.CandidatePage, error)
	SettledSince(ctx context.Context, region string, since db.FeedPoint) (db.SettledPage, error)
	SetTicketState(ctx context.Context, universe string, state db.TicketState, ids []string, reason string) error
}

// matches has the calls about decided matches, open matches, and history.
type matches interface {
	CommitMatches(ctx context.Context, universe, region string, share db.HostShare, owners []db.MatchOwner,
		matches []db.NewMatch, assign db.AssignMatch) ([]db.MatchOutcome, error)
	KeepTickets(ctx context.Context, universe string, tickets []db.LeftTicket) (refused int, err error)
	RecordSightings(ctx context.Context, universe string, sightings []db.Sighting) error
	ProposeMatches(ctx context.Context, universe string, owners []db.MatchOwner, matches []db.NewMatch,
		within time.Duration) ([]db.MatchOutcome, error)
	OpenReadyChecks(ctx context.Context, universe, profile string) ([]db.OpenReadyCheck, error)
	JudgeReadyChecks(ctx context.Context, universe string, owners []db.MatchOwner, overdue time.Duration,
		batch int) (db.JudgedReadyChecks, error)
	RenewAccepted(ctx context.Context, universe string, owners []db.MatchOwner,
		matches []db.NewMatch) (ended []uuid.UUID, err error)
	FreeMarkedTickets(ctx context.Context, universe string, all []db.MarkedTickets) error
	FreeAbandonedTickets(ctx context.Context, universe string, epochs map[string]int64) (freed int, err error)
	JoinableMatches(ctx context.Context, universe string, profiles []string) ([]db.JoinableMatch, error)
}

// callTimeout bounds each call of the database. Computing between two calls is not counted.
const callTimeout = 5 * time.Second

// retryPause is how long the loop waits after a call of the database failed, before it tries again.
const retryPause = 500 * time.Millisecond

// readingError is the error of a call of the database. What this worker knows stays valid after it: see beginAnew.
type readingError struct {
	whatCall string
	tookTime time.Duration
	err      error
}

func (e *readingError) Error() string {
	return fmt.Sprintf("%s failed after %s: %v", e.whatCall, e.tookTime.Round(time.Millisecond), e.err)
}

func (e *readingError) Unwrap() error { return e.err }

// callDatabase makes a call of the database within callTimeout. whatCall names the call in an error. Errors:
// [readingError].
func callDatabase(ctx context.Context, whatCall string, call func(ctx context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	began := time.Now()
	if err := call(ctx); err != nil {
		return &readingError{whatCall, time.Since(began), err}
	}
	return nil
}
