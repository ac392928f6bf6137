package db

import (
	"context"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// InstanceRef names the calling instance. A nil Incarnation means a legacy server, which is identified by its id alone.
type InstanceRef struct {
	InstanceID  string
	Incarnation *uuid.UUID
}

// directory is the rows of instances, by id.
type directory map[string]query.FindInstancesRow

// findInstances looks up all instances in one statement, and sends none when there are no refs.
func findInstances(ctx context.Context, q *query.Queries, refs ...InstanceRef) (directory, error) {
	if len(refs) == 0 {
		return directory{}, nil
	}
	ids := make([]string, len(refs))
	for i, r := range refs {
		ids[i] = r.InstanceID
	}
	rows, err := q.FindInstances(ctx, ids)
	if err != nil {
		return nil, err
	}
	known := make(directory, len(rows))
	for _, r := range rows {
		known[r.InstanceID] = r
	}
	return known, nil
}

// liveRegion returns the region of an instance whose lease is live and whose incarnation is current. Errors: NotFound,
// Superseded.
func (d directory) liveRegion(ref InstanceRef) (region string, err error) {
	known, ok := d[ref.InstanceID]
	switch {
	case !ok:
		return "", instanceUnknown(ref)
	case ref.Incarnation != nil && *ref.Incarnation != known.Incarnation:
		return "", supersededError(ref)
	case !known.Alive:
		return "", instanceUnknown(ref)
	}
	return known.Region, nil
}

// liveRegionHere returns the region of a live instance, and refuses one whose region another cell serves by now: the
// instance registers there. Errors: those of directory.liveRegion, Elsewhere.
func (s *Store) liveRegionHere(known directory, ref InstanceRef) (region string, err error) {
	region, err = known.liveRegion(ref)
	if err != nil {
		return "", err
	}
	return region, s.CheckHere(region)
}

func instanceUnknown(ref InstanceRef) error {
	return fault.New(fault.NotFound, "instance_unknown",
		"instance %q is unknown or its lease has expired: register again", ref.InstanceID)
}

func supersededError(ref InstanceRef) error {
	return fault.New(fault.Superseded, "superseded",
		"a newer incarnation of instance %q is registered: stop, do not register again", ref.InstanceID)
}

// onLiveInstance runs fn in a transaction that has locked the row of a live instance. Errors: NotFound, Superseded,
// Elsewhere, fn's, Unavailable.
func (s *Store) onLiveInstance(ctx context.Context, ref InstanceRef,
	fn func(q *query.Queries, region string) error) error {
	lockAndRun := func(q *query.Queries) error {
		known, err := findInstances(ctx, q, ref)
		if err != nil {
			return err
		}
		region, err := s.liveRegionHere(known, ref)
		if err != nil {
			return err
		}
		locked, err := q.LockInstance(ctx, query.LockInstanceParams{Region: region, ID: ref.InstanceID})
		if errors.Is(err, pgx.ErrNoRows) {
			return instanceUnknown(ref)
		}
		if err != nil {
			return err
		}
		// The directory was read without a lock: the instance may have ended or been replaced before this lock.
		if locked.Status == "gone" {
			return instanceUnknown(ref)
		}
		if ref.Incarnation != nil && *ref.Incarnation != locked.Incarnation {
			return supersededError(ref)
		}
		return fn(q, region)
	}
	return frame.Classify(s.untilFlip(ctx, func() error { return s.frame.InTx(ctx, lockAndRun) }))
}

// Deregister ends an instance: it gets no more players, and its sessions close. Errors: NotFound, Superseded,
// Elsewhere, Unavailable.
func (s *Store) Deregister(ctx context.Context, ref InstanceRef) error {
	return s.onLiveInstance(ctx, ref, func(q *query.Queries, region string) error {
		// Its deployment then counts as ended in order, not as crashed.
		if err := q.NoteDeregistered(ctx,
			query.NoteDeregisteredParams{Region: region, ID: ref.InstanceID}); err != nil {
			return err
		}
		return endInstance(ctx, q, region, ref.InstanceID, provision.ReasonDeregistered)
	})
}

// DrainStatus is the answer to SetDrain.
type DrainStatus struct {
	IsDraining bool // also after the end of a drain, while an operator keeps the instance drained
	Available  int  // seats of its capacity that no open session has reserved
}

// SetDrain starts or ends the drain that a game server asks for: a draining instance gets no new players, and its
// sessions continue. It ends no drain that an operator keeps. Errors: NotFound, Superseded, Elsewhere, Unavailable.
func (s *Store) SetDrain(ctx context.Context, ref InstanceRef, drain bool) (status DrainStatus, err error) {
	err = s.onLiveInstance(ctx, ref, func(q *query.Queries, region string) error {
		done, err := q.SetDrain(ctx, query.SetDrainParams{Region: region, ID: ref.InstanceID, Drain: drain})
		if err != nil {
			return err
		}
		if done.Changed {
			if err := q.RefreshShares(ctx,
				query.RefreshSharesParams{Region: region, InstanceIds: []string{ref.InstanceID}}); err != nil {
				return err
			}
		}
		n, err := q.Available(ctx, query.AvailableParams{Region: region, ID: ref.InstanceID})
		status = DrainStatus{done.Draining, int(n)}
		return err
	})
	return status, err
}

// Regions returns the regions that have instances, running or ended. Errors: Unavailable.
func (s *Store) Regions(ctx context.Context) ([]string, error) {
	regions, err := s.q.Regions(ctx)
	return regions, frame.Classify(err)
}

func (r InstanceRef) bytes() int { return textBytes(r.InstanceID) }

func endInstance(ctx context.Context, q *query.Queries, region, id, reason string) error {
	_, err := q.EndInstance(ctx, query.EndInstanceParams{Region: region, ID: id, Reason: reason})
	return err
}

// orNull returns NULL for an empty text.
func orNull(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// int32OrNull returns NULL for nil.
func int32OrNull(n *int) *int32 {
	if n == nil {
		return nil
	}
	v := int32(*n)
	return &v
}
