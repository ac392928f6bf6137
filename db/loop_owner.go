package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// LoopWorker is a worker of the director loop whose lease runs.
type LoopWorker struct {
	ID     uuid.UUID
	Weight int // number of its candidates and profiles, by which workers share the profiles
}

// ProfileOwner says which worker decides for a profile. (The column region of profiles, tickets and owners holds the
// universe.)
type ProfileOwner struct {
	ProfileName   string
	LiveVersion   int       // the version that decides
	IsPaused      bool      // the profile makes no matches
	ShadowVersion int       // the version that only reports what it would decide; 0: none
	WorkerID      uuid.UUID // the last that took the profile; zero: none has, or it gave the profile up
	Epoch         int64     // how many times a worker has taken the profile
	IsOwned       bool      // the worker's lease runs
}

// RenewLoopWorker makes the lease of a worker of the director loop end after lease, and stores its weight. The first call
// registers the worker. Errors: Unavailable.
func (s *Store) RenewLoopWorker(ctx context.Context, w LoopWorker, lease time.Duration) error {
	return frame.Classify(s.q.RenewLoopWorker(ctx,
		query.RenewLoopWorkerParams{ID: w.ID, Weight: int32(w.Weight), Lease: lease}))
}

// EndLoopWorker deletes a worker, so that others take over its profiles at once, and every worker whose lease ended more
// than a minute ago. Errors: Unavailable.
func (s *Store) EndLoopWorker(ctx context.Context, id uuid.UUID) error {
	return frame.Classify(s.q.EndLoopWorker(ctx, id))
}

// LoopWorkers returns the workers whose leases run, by id. Errors: Unavailable.
func (s *Store) LoopWorkers(ctx context.Context) ([]LoopWorker, error) {
	rows, err := s.q.LoopWorkers(ctx)
	workers := make([]LoopWorker, 0, len(rows))
	for _, r := range rows {
		workers = append(workers, LoopWorker{r.ID, int(r.Weight)})
	}
	return workers, frame.Classify(err)
}

// ProfileOwners returns the profiles of a universe that are not retired, by name; none while the universe
// refuses writes. Errors: Unavailable.
func (s *Store) ProfileOwners(ctx context.Context, universe string) ([]ProfileOwner, error) {
	rows, err := s.q.OwnedProfiles(ctx, universe)
	owners := make([]ProfileOwner, 0, len(rows))
	for _, r := range rows {
		o := ProfileOwner{ProfileName: r.Name, LiveVersion: int(r.Live), IsPaused: r.Paused, WorkerID: r.Worker,
			Epoch: r.Epoch, IsOwned: r.Owned}
		if r.Shadow != nil {
			o.ShadowVersion = int(*r.Shadow)
		}
		owners = append(owners, o)
	}
	return owners, frame.Classify(err)
}

// TakeProfiles makes a worker the owner of those of the named profiles that no worker with a running lease owns, itself
// included, and returns the epochs of those that it took. The worker's own lease must run. TakeProfiles waits for commits
// of former owners. Errors: Unavailable.
func (s *Store) TakeProfiles(ctx context.Context, universe string, worker uuid.UUID,
	names []string) (epochs map[string]int64, err error) {
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		rows, err := q.TakeProfiles(ctx, query.TakeProfilesParams{Region: universe, Worker: worker, Names: names})
		if err != nil {
			return err
		}
		epochs = make(map[string]int64, len(rows))
		for _, r := range rows {
			epochs[r.Profile] = r.Epoch
		}
		return nil
	})
	return epochs, frame.Classify(err)
}

// GiveUpProfile leaves a profile to whichever worker takes it next. Errors: Unavailable.
func (s *Store) GiveUpProfile(ctx context.Context, universe string, worker uuid.UUID, name string) error {
	return frame.Classify(s.q.GiveUpProfile(ctx,
		query.GiveUpProfileParams{Region: universe, Worker: worker, Name: name}))
}
