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
	if err != nil {
		return out, frame.Classify(err)
	}
	// The capacity of the fleet has changed, even if the registration is refused now.
	s.Notify(TopicCapacity, "")
	return out, out.refusal(r)
}

func registerInstance(ctx context.Context, q *query.Queries, r Registration) (Registered, error) {
	r, err := lockTerms(ctx, q, r)
	if err != nil {
		return Registered{}, err
	}
	incarnation, continued, err := continueOrReplaceIncarnation(ctx, q, r)
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

// lockTerms refuses a registration that its deployment or its enrolment does not allow, and locks the enrolment. It
// returns the registration with the values that these decide.
func lockTerms(ctx context.Context, q *query.Queries, r Registration) (Registration, error) {
	if r.Joining != nil {
		return completeRegistration(ctx, q, r)
	}
	if r.Enrolling == nil {
		return r, nil
	}
	var err error
	r.terms, err = lockEnrolment(ctx, q, r)
	return r, err
}

// continueOrReplaceIncarnation makes the registered incarnation the current one: that of the instance if the
// registration continues it, else a new one, and the instance of the former incarnation ends. It returns the instance
// as it was if the registration continues it, and nil otherwise.
func continueOrReplaceIncarnation(ctx context.Context, q *query.Queries,
	r Registration) (uuid.UUID, *query.LockInstanceRow, error) {
	fresh := uuid.New()
	// Registrations of one id wait for each other here. The first one inserts the row.
	known, err := q.LockInstanceID(ctx, query.LockInstanceIDParams{InstanceID: r.InstanceID, Region: r.Region,
		Incarnation: fresh})
	if err != nil {
		return fresh, nil, err
	}
	if r.Enrolling != nil {
		if err := checkHolder(ctx, q, r); err != nil {
			return fresh, nil, err
		}
	}
	if known.IsNew {
		return fresh, nil, nil
	}
	// The region of the last registration, which may be another than that of this one.
	old, err := q.LockInstance(ctx, query.LockInstanceParams{Region: known.Region, ID: r.InstanceID})
	if errors.Is(err, pgx.ErrNoRows) {
		return fresh, nil, setDirectoryEntry(ctx, q, r, fresh)
	}
	if err != nil {
		return fresh, nil, err
	}
	continues := known.Region == r.Region && continuesRegistration(old, r)
	if err := fenceRegistration(r, known.Incarnation, sameBoot(old, r), continues); err != nil {
		return fresh, nil, err
	}
	if continues {
		return old.Incarnation, &old, nil
	}
	if old.Status != "gone" {
		// The process of the former incarnation may still run: its sessions close, and its calls are refused from now
		// on.
		if err := endInstance(ctx, q, known.Region, r.InstanceID, "superseded"); err != nil {
			return fresh, nil, err
		}
	}
	return fresh, nil, setDirectoryEntry(ctx, q, r, fresh)
}

// setDirectoryEntry makes the directory of instances name the region of the registration and an incarnation.
func setDirectoryEntry(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) error {
	return q.PointDirectory(ctx, query.PointDirectoryParams{InstanceID: r.InstanceID, Region: r.Region,
		Incarnation: incarnation})
}

// continuesRegistration reports whether an instance keeps its incarnation. A legacy server sends no boot id: it counts
// as the same process while its lease is live and its endpoint stays. The endpoint of a deployment's server is not
// compared: the director decides it.
func continuesRegistration(old query.LockInstanceRow, r Registration) bool {
	return old.Status != "gone" && old.Alive && (r.BootID == "" || sameBoot(old, r)) &&
		(r.Joining != nil || old.Endpoint == r.Endpoint)
}

// sameBoot reports whether the process that registers is known to be that of the instance. Without a boot id, the
// process is not known.
func sameBoot(old query.LockInstanceRow, r Registration) bool {
	return r.BootID != "" && old.BootID != nil && *old.BootID == r.BootID
}

// fenceRegistration refuses a registration that arrives after another one has changed the incarnation. isSameProcess:
// the sender is the process of the current incarnation; continues: it keeps that incarnation. Errors: Conflict, after
// which the process may register again with the current incarnation in Replaces, if that incarnation is its own or the
// process has never been registered; Superseded otherwise.
func fenceRegistration(r Registration, current uuid.UUID, isSameProcess, continues bool) error {
	if r.Replaces == nil || *r.Replaces == current {
		return nil
	}
	// A retry after a lost answer still names the incarnation that the first attempt has replaced.
	if isSameProcess && continues {
		return nil
	}
	if isSameProcess || *r.Replaces == uuid.Nil {
		err := fault.New(fault.Conflict, "instance_taken",
			"instance %q is registered already: to take its place, name its incarnation in replaces", r.InstanceID)
		err.Incarnation = current.String()
		return err
	}
	return supersededError(InstanceRef{InstanceID: r.InstanceID})
}

// putRegistration writes the rows of an instance: what it is, its lease, and the modes by which placement finds it.
func putRegistration(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID) error {
	// Without a load the instance counts as idle, also when it registers again: only heartbeats keep the last load.
	load := 0.0
	if r.Load != nil {
		load = *r.Load
	}
	// The column is NOT NULL, and its readers expect an object.
	if r.Labels == nil {
		r.Labels = map[string]string{}
	}
	status, deployment := "ready", (*uuid.UUID)(nil)
	if r.Joining != nil {
		// Placement ignores an instance that is starting, until its deployment is ready: see MakeReady.
		status, deployment = "starting", &r.Joining.ID
	}
	if err := q.PutInstance(ctx, query.PutInstanceParams{
		Region: r.Region, ID: r.InstanceID, Incarnation: incarnation, BootID: orNull(r.BootID), Endpoint: r.Endpoint,
		Modes: r.Modes, Labels: r.Labels, Version: orNull(r.Version), CertDigest: orNull(r.CertDigest),
		Capacity: int32(r.Capacity), MaxSessions: int32OrNull(r.MaxSessions), ReportsSeats: r.ReportsSeats,
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

// logRegistration writes the events of a registration: that of a new incarnation, and that of a drain which an operator
// keeps and which begins with this registration. continued is the instance as it was before a registration that
// continues its incarnation; nil for a new incarnation.
func logRegistration(ctx context.Context, q *query.Queries, r Registration, incarnation uuid.UUID,
	continued *query.LockInstanceRow) error {
	if continued != nil {
		// Its event was written when the drain began.
		if continued.Status == "draining" {
			return nil
		}
		// The instance drains from now on if its new labels are those of a kept drain.
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
