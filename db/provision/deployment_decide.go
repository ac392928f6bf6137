package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// PutIntent commits the intent to call Deploy, and updates d with it: Phase, Attempt, IntentAt, FindAt, MissingSince,
// DrainAt and EndsAt. It returns false if another decision was made since d was claimed; then Deploy must not be
// called. Errors: Unavailable; the intent may be committed.
func (s *Store) PutIntent(ctx context.Context, d *ClaimedDeployment, lifetime, drainAhead time.Duration) (bool, error) {
	r, err := s.frame.Queries.PutIntent(ctx, query.PutIntentParams{
		Now: s.virtualNow(), Lifetime: lifetime, DrainAhead: drainAhead, Region: d.Region, ID: d.ID,
		Generation: d.Generation,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		// Another decision was made since the claim: an intent now could start a server for a deployment that is over.
		return false, s.ReleaseDeployment(ctx, d)
	}
	if err != nil {
		return false, frame.Classify(err)
	}
	d.Phase, d.PollCount, d.MissingSince = DeploymentDeploying, 0, nil
	d.Generation, d.DeployAttempts, d.IntentAt, d.FindAt, d.DrainAt, d.EndsAt = r.Generation, int(r.Attempt), r.IntentAt, r.FindAt, r.DrainAt, r.EndsAt
	return true, nil
}

// DecideDeployment writes the decision of a step, which is d as the step has changed it: Phase, Polls, IntentAt,
// FindAt, MissingSince, Stop, Reason and LastError. The deployment is due again at next; nil means only when it is
// woken. A decision to drain or to end it takes effect for players in the same transaction. It returns false, and
// writes nothing, if another decision was made since d was claimed. Errors: Unavailable.
func (s *Store) DecideDeployment(ctx context.Context, d *ClaimedDeployment, next *time.Time) (bool, error) {
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// In the same transaction, so that no player is seated on a server that ends; and first, because instances are
		// locked before deployments.
		if d.takesNoPlayers() {
			if err := q.DrainInstance(ctx, query.DrainInstanceParams{Region: d.Region, ID: d.ID.String()}); err != nil {
				return err
			}
		}
		_, err := q.DecideDeployment(ctx, query.DecideDeploymentParams{
			Region: d.Region, ID: d.ID, Generation: d.Generation, Phase: string(d.Phase), Polls: int32(d.PollCount),
			IntentAt: d.IntentAt, FindAt: d.FindAt,
			MissingSince: d.MissingSince, Stop: d.MustStop, Now: s.virtualNow(), Reason: d.Reason,
			LastError: d.LastError,
			WokenAt:   d.wokenAt, NextAt: next,
		})
		// Other decisions have their events elsewhere, or none.
		if err != nil || d.Phase != DeploymentFailed {
			return err
		}
		return logDeployment(ctx, q, d, "deployment.failed",
			map[string]string{"reason": d.Reason, "error": d.LastError})
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return false, s.ReleaseDeployment(ctx, d)
	}
	return err == nil, frame.Classify(err)
}

// takesNoPlayers reports whether the instance of a deployment must get no new players.
func (d *Deployment) takesNoPlayers() bool {
	return d.MustStop || d.Phase == DeploymentDraining || d.Phase == DeploymentFailed || d.Phase == DeploymentStopping
}

// ReleaseDeployment ends a claim without a decision, unless another worker has claimed the deployment meanwhile. The
// deployment is due at the time that the last decision set, or when the claim would have ended. Errors: Unavailable;
// the claim then ends by itself.
func (s *Store) ReleaseDeployment(ctx context.Context, d *ClaimedDeployment) error {
	return frame.Classify(s.frame.Queries.ReleaseDeployment(ctx,
		query.ReleaseDeploymentParams{Region: d.Region, ID: d.ID, Lease: d.claimLease}))
}

// logDeployment writes an event about a deployment.
func logDeployment(ctx context.Context, q *query.Queries, d *ClaimedDeployment, kind string,
	detail map[string]string) error {
	text, err := json.Marshal(detail)
	if err != nil {
		return fmt.Errorf("detail of %s: %w", kind, err)
	}
	// The instance of a deployment has its id, so that the event is found by either.
	id := d.ID.String()
	return q.LogDeployment(ctx, query.LogDeploymentParams{Region: d.Region, Kind: kind, ID: &id, Detail: text})
}
