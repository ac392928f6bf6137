package provision

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/notify"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/provider"
)

// NoteRef stores the ref of a deployment's server unless one is stored, whatever was decided since the claim, and
// returns the stored one. If this is another ref, the caller's server is a second one of the deployment; "" means that
// the deployment is gone. In both cases the caller must stop the server. Errors: Unavailable.
func (s *Store) NoteRef(ctx context.Context, d *ClaimedDeployment, ref provider.Ref) (provider.Ref, error) {
	own, err := s.frame.Queries.NoteRef(ctx,
		query.NoteRefParams{Region: d.Region, ID: d.ID, Ref: string(ref), Now: s.virtualNow()})
	// The deployment is gone.
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", frame.Classify(err)
	}
	d.Ref, d.MissingSince = provider.Ref(own), nil
	return d.Ref, nil
}

// AdoptClaimedRef gives a deployment without a ref the one with which its server has registered. Call it once the
// provider has confirmed that ref. It returns false if the deployment has got a ref meanwhile, or if another server has
// registered. Errors: Unavailable.
func (s *Store) AdoptClaimedRef(ctx context.Context, d *ClaimedDeployment) (bool, error) {
	n, err := s.frame.Queries.AdoptClaimedRef(ctx,
		query.AdoptClaimedRefParams{Region: d.Region, ID: d.ID, Ref: string(d.ClaimedRef)})
	if err != nil || n == 0 {
		return false, frame.Classify(err)
	}
	d.Ref, d.MissingSince = d.ClaimedRef, nil
	return true, nil
}

// DropClaimedRef forgets the ref with which the server of a deployment has registered, unless a server has registered
// with another ref meanwhile. Errors: Unavailable.
func (s *Store) DropClaimedRef(ctx context.Context, d *ClaimedDeployment) error {
	return frame.Classify(s.frame.Queries.DropClaimedRef(ctx,
		query.DropClaimedRefParams{Region: d.Region, ID: d.ID, Ref: string(d.ClaimedRef)}))
}

// NoteObservation stores what a provider has reported about a deployment, whatever was decided since the claim. An
// observation of another server than the deployment's changes nothing. Errors: Unavailable.
func (s *Store) NoteObservation(ctx context.Context, d *ClaimedDeployment, o provider.Observation,
	drainAhead time.Duration) error {
	p := query.NoteObservationParams{
		Location: o.Location, Ip: addressText(o.IP), DrainAhead: drainAhead, Ready: o.Phase == provider.PhaseReady,
		Now:    s.virtualNow(),
		Region: d.Region, ID: d.ID, Ref: string(o.Ref),
	}
	// The statement keeps the stored end and ports where these are nil.
	if !o.Ends.IsZero() {
		p.EndsAt = &o.Ends
	}
	if len(o.Ports) > 0 {
		text, err := json.Marshal(o.Ports)
		if err != nil {
			return fmt.Errorf("ports: %w", err)
		}
		p.Ports = text
	}
	if err := s.frame.Queries.NoteObservation(ctx, p); err != nil {
		return frame.Classify(err)
	}
	d.MissingSince = nil
	return nil
}

// MoveToFallback gives a deployment, of which nothing is at its provider, to another provider, and ends the claim. It
// returns false, and changes nothing, if another decision was made since d was claimed or its intent was stored.
// Errors: Unavailable.
func (s *Store) MoveToFallback(ctx context.Context, d *ClaimedDeployment, to string) (bool, error) {
	n, err := s.frame.Queries.MoveToFallback(ctx,
		query.MoveToFallbackParams{Region: d.Region, ID: d.ID, Generation: d.Generation, Provider: to,
			LastError: d.LastError, Now: s.virtualNow()})
	// The deployment is due at once, perhaps for another worker: this one may not have the provider.
	if err == nil && n > 0 {
		s.sendNotice(notify.TopicDeployments, d.Region)
	}
	return n > 0, frame.Classify(err)
}

// EndDeployment moves a deployment of which nothing is left at its provider into the history, and ends its instance,
// even during an amnesty, since the provider knows that the server is gone. It returns false, and ends only the claim,
// for a deployment that is gone or has another ref than d, and for one without a ref about which another decision was
// made. Errors: Unavailable.
func (s *Store) EndDeployment(ctx context.Context, d *ClaimedDeployment, reason string) (ended bool, err error) {
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		id := d.ID.String()
		// Before the deployment, in the order of all locks.
		if err := q.LockInstances(ctx, query.LockInstancesParams{Region: d.Region, Ids: []string{id}}); err != nil {
			return err
		}
		row, err := q.LockDeployment(ctx, query.LockDeploymentParams{Region: d.Region, ID: d.ID})
		if err != nil {
			return err
		}
		// The deployment was found under another ref since the claim, or may be: it must not be forgotten.
		hasOtherRef := row.Ref != string(d.Ref)
		mayHaveRef := d.Ref == "" && row.Generation != d.Generation
		if hasOtherRef || mayHaveRef {
			return errNotOver
		}
		if err := q.EndInstanceOfDeployment(ctx,
			query.EndInstanceOfDeploymentParams{Region: d.Region, InstanceID: id,
				Reason: "deployment ended: " + reason}); err != nil {
			return err
		}
		_, err = q.MoveToHistory(ctx, query.MoveToHistoryParams{Region: d.Region, ID: d.ID, Reason: reason,
			LastError: d.LastError, Now: s.virtualNow()})
		return err
	})
	if errors.Is(err, errNotOver) || errors.Is(err, pgx.ErrNoRows) {
		return false, s.ReleaseDeployment(ctx, d)
	}
	return err == nil, frame.Classify(err)
}

// errNotOver rolls back the end of a deployment whose row is no longer as it was claimed.
var errNotOver = errors.New("the deployment is not over")
