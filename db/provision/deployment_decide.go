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

// PutIntent commits the intent to call Deploy, and updates d with it: Phase, PollCount, Generation, DeployAttempts,
// IntentAt, FindAt, MissingSince, DrainAt and EndsAt. It returns false, and ends the claim, if another decision was
// made since d was claimed; then Deploy must not be called. Errors: Unavailable; the intent may be committed.
func (s *Store) PutIntent(ctx context.Context, d *ClaimedDeployment, lifetime, drainAhead time.Duration) (bool, error) {
	r, err := s.frame.Queries.PutIntent(ctx, query.PutIntentParams{
		Now: s.virtualNow(), Lifetime: lifetime, DrainAhead: drainAhead, Region: d.Region, ID: d.ID,
		Generation: d.Generation,
	})
	// Another decision has raised the generation since d was claimed.
	if errors.Is(err, pgx.ErrNoRows) {
		return false, s.ReleaseDeployment(ctx, d)
	}
	if err != nil {
		return false, frame.Classify(err)
	}
	d.Phase, d.PollCount, d.MissingSince = DeploymentDeploying, 0, nil
	d.Generation, d.DeployAttempts = r.Generation, int(r.Attempt)
	d.IntentAt, d.FindAt, d.DrainAt, d.EndsAt = r.IntentAt, r.FindAt, r.DrainAt, r.EndsAt
	return true, nil
}

// DecideDeployment writes the decision of a step, which is d as the step has changed it: Phase, PollCount, IntentAt,
// FindAt, MissingSince, MustStop, Reason and LastError. The deployment is due again at next; nil means only when it is
// woken. If the decision is to drain or to end the server, no player is seated there from its commit on. It returns
// false, and writes nothing but the end of the claim, if another decision was made since d was claimed. Errors:
// Unavailable.
func (s *Store) DecideDeployment(ctx context.Context, d *ClaimedDeployment, next *time.Time) (bool, error) {
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Before the deployment, in the order of all locks.
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
		// Of the other phases, other code logs the events, or there are none.
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
	// The id of the deployment is that of its instance, by which the event is found as well.
	id := d.ID.String()
	return q.LogDeployment(ctx, query.LogDeploymentParams{Region: d.Region, Kind: kind, ID: &id, Detail: text})
}
