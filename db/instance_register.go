package db

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// Register registers an instance, for the first time or again. With the same boot id, endpoint and region, and while
// its lease is live, an instance keeps its incarnation and its sessions. Otherwise it gets a new incarnation, and the
// sessions of the old one close. The endpoint of a deployment's server is the director's and decides nothing. Errors:
// Superseded or Conflict when Replaces is not the current incarnation; Gone, Forbidden or Invalid for a deployment;
// Forbidden or Conflict for an enrolment; Elsewhere; Unavailable.
func (s *Store) Register(ctx context.Context, r Registration) (out Registered, err error) {
	if err := s.CheckHere(r.Region); err != nil {
		return out, err
	}
	err = s.untilFlip(ctx, func() error {
		return s.frame.InTx(ctx, func(q *query.Queries) error {
			out, err = registerInstance(ctx, q, r)
			return err
		})
	})
	if err == nil {
		// The capacity of the fleet has changed, whatever the answer is.
		s.Notify(TopicCapacity, "")
		err = out.refusal(r)
	}
	return out, frame.Classify(err)
}

func registerInstance(ctx context.Context, q *query.Queries, r Registration) (Registered, error) {
	r, err := applyTerms(ctx, q, r)
	if err != nil {
		return Registered{}, err
	}
	incarnation, continued, err := chooseIncarnation(ctx, q, r)
	if err != nil {
		return Registered{}, err
	}
	if err := putRegistration(ctx, q, r, incarnation); err != nil {
		return Registered{}, err
	}
	if err := logRegistration(ctx, q, r, incarnation, continued); err != nil {
		return Registered{}, err
	}
	out := Registered{InstanceID: r.InstanceID, Incarnation: incarnation}
	// After the rows of the instance, which are locked before those of deployments in the order of all locks.
	if r.Joining != nil {
		if out.Deployed, err = joinDeployment(ctx, q, r, incarnation); err != nil {
			return Registered{}, err
		}
	}
	if r.Enrolling != nil {
		if out.Enrolled, err = takePlace(ctx, q, r, incarnation); err != nil {
			return Registered{}, err
		}
	}
	available, err := q.Available(ctx, query.AvailableParams{Region: r.Region, ID: r.InstanceID})
	out.Available = int(available)
	return out, err
}

// applyTerms refuses a registration that its deployment or its enrolment does not allow, and returns it with what these
// decide.
func applyTerms(ctx context.Context, q *query.Queries, r Registration) (Registration, error) {
	var err error
	switch {
	case r.Joining != nil:
		return completeRegistration(ctx, q, r)
	case r.Enrolling != nil:
		r.terms, err = lockEnrolment(ctx, q, r)
	}
	return r, err
}

// lockInstanceID locks the row of the instance in the directory, so that two registrations of one id run one after the
// other.
func lockInstanceID(ctx context.Context, q *query.Queries, r Registration,
	fresh uuid.UUID) (query.LockInstanceIDRow, error) {
	known, err := q.LockInstanceID(ctx, query.LockInstanceIDParams{InstanceID: r.InstanceID, Region: r.Region,
		Incarnation: fresh})
	if err == nil && r.Enrolling != nil {
		err = checkHolder(ctx, q, r)
	}
	return known, err
}

// chooseIncarnation decides whether the registration continues an incarnation, and ends the previous one if not. It
// returns the instance as it was if the registration continues it, and nil otherwise.
func chooseIncarnation(ctx context.Context, q *query.Queries,
	r Registration) (uuid.UUID, *query.LockInstanceRow, error) {
	fresh := uuid.New()
	known, err := lockInstanceID(ctx, q, r, fresh)
	if err != nil || known.IsNew {
		return fresh, nil, err
	}
	// In the region in which it was registered last, which may be another than the one of this registration.
	old, err := q.LockInstance(ctx, query.LockInstanceParams{Region: known.Region, ID: r.InstanceID})
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return fresh, nil, pointDirectory(ctx, q, r, fresh)
	case err != nil:
		return fresh, nil, err
	}
	same := known.Region == r.Region && continuesRegistration(old, r)
	if err := fenceRegistration(r, known.Incarnation, sameBoot(old, r), same); err != nil {
		return fresh, nil, err
	}
	switch {
	case same:
		return old.Incarnation, &old, nil
	case old.Status != "gone":
		// The process of the former incarnation may still run: its sessions close, and its calls are refused from now
		// on.
		if err := endInstance(ctx, q, known.Region, r.InstanceID, "superseded"); err != nil {
			return fresh, nil, err
		}
	}
	return fresh, nil, pointDirectory(ctx, q, r, fresh)
}

func pointDirectory(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) error {
	return q.PointDirectory(ctx, query.PointDirectoryParams{InstanceID: r.InstanceID, Region: r.Region,
		Incarnation: incarnation})
}

// continuesRegistration reports whether an instance keeps its incarnation. A legacy server sends no boot id: it counts
// as the same process while its lease is live and its endpoint stays. The endpoint of a deployment's server is the
// director's, and not compared.
func continuesRegistration(old query.LockInstanceRow, r Registration) bool {
	return old.Status != "gone" && old.Alive && (r.BootID == "" || sameBoot(old, r)) &&
		(r.Joining != nil || old.Endpoint == r.Endpoint)
}

// sameBoot reports whether the process that registers is known to be that of the instance. Without a boot id it is not.
func sameBoot(old query.LockInstanceRow, r Registration) bool {
	return r.BootID != "" && old.BootID != nil && *old.BootID == r.BootID
}

// fenceRegistration refuses a registration that arrives after another one has changed the incarnation. A registration by the
// process of the current incarnation (own) that keeps that incarnation (same) may be a retry after a lost answer, and
// is allowed. The refusal is a Conflict, after which the process may register again with the current incarnation in
// Replaces, when that incarnation is its own, or when it has never been registered. Else the process is superseded.
func fenceRegistration(r Registration, current uuid.UUID, own, same bool) error {
	switch {
	case r.Replaces == nil || *r.Replaces == current || own && same:
		return nil
	case own || *r.Replaces == uuid.Nil:
		err := fault.New(fault.Conflict, "instance_taken",
			"instance %q is registered already: to take its place, name its incarnation in replaces", r.InstanceID)
		err.Incarnation = current.String()
		return err
	}
	return supersededError(InstanceRef{InstanceID: r.InstanceID})
}

// putRegistration writes the rows of an instance: what it is, its lease, and the modes by which placement finds it.
func putRegistration(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) error {
	// Without a load the instance counts as idle, also when it registers again: only heartbeats keep the last one.
	load := 0.0
	if r.Load != nil {
		load = *r.Load
	}
	// The column is NOT NULL, and its readers expect an object.
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	status, deployment := "ready", (*uuid.UUID)(nil)
	// Placement ignores it until the deployment is ready: see MakeReady.
	if r.Joining != nil {
		status, deployment = "starting", &r.Joining.ID
	}
	if err := q.PutInstance(ctx, query.PutInstanceParams{
		Region: r.Region, ID: r.InstanceID, Incarnation: incarnation, BootID: orNull(r.BootID), Endpoint: r.Endpoint,
		Modes: r.Modes, Labels: r.Labels, Version: orNull(r.Version), CertDigest: orNull(r.CertDigest),
		Capacity: int32(r.Capacity), MaxSessions: toInt32(r.MaxSessions), ReportsSeats: r.ReportsSeats,
		CreatesRooms: r.CreatesRooms,
		DeploymentID: deployment, Status: status,
	}); err != nil {
		return err
	}
	if err := q.PutLease(ctx, query.PutLeaseParams{Region: r.Region, InstanceID: r.InstanceID, Incarnation: incarnation,
		Load: load}); err != nil {
		return err
	}
	return q.PutModes(ctx, query.PutModesParams{Region: r.Region, InstanceID: r.InstanceID, Modes: r.Modes, Load: load})
}

// logRegistration writes the events of a registration: a new incarnation, and a drain that an operator keeps. A
// registration that was repeated continues an incarnation, and writes none that was written before.
func logRegistration(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID,
	continued *query.LockInstanceRow) error {
	if continued != nil && continued.Status == "draining" {
		return nil
	}
	if continued != nil { // its labels may have changed to those of a drain
		return q.LogKeptDrain(ctx, query.LogKeptDrainParams{Region: r.Region, InstanceID: r.InstanceID})
	}
	facts := map[string]any{"endpoint": r.Endpoint, "incarnation": incarnation, "capacity": r.Capacity}
	if r.Enrolling != nil {
		facts["enrolment"] = r.terms.Name
	}
	detail, err := json.Marshal(facts)
	if err != nil {
		return err
	}
	if err := q.LogInstance(ctx, query.LogInstanceParams{Region: r.Region, Kind: "instance.registered",
		InstanceID: &r.InstanceID, Detail: detail}); err != nil {
		return err
	}
	return q.LogKeptDrain(ctx, query.LogKeptDrainParams{Region: r.Region, InstanceID: r.InstanceID})
}
