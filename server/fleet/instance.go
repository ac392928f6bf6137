package fleet

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// caller identifies the instance in every call after register.
type caller struct {
	instanceID  string
	incarnation *uuid.UUID // nil for game servers that do not send it
}

func (r caller) checkInstance(c *rest.Check) { c.Match("instance_id", r.instanceID, rest.ID) }

func (r caller) instanceRef() db.InstanceRef {
	return db.InstanceRef{InstanceID: r.instanceID, Incarnation: r.incarnation}
}

// checkCredential refuses a caller whose credential speaks for another instance. A caller that registered by an
// enrolment has to name its incarnation, because a credential that an operator has revoked ends with the incarnation.
func (r caller) checkCredential(ctx context.Context) error {
	if err := checkSpeaker(ctx, r.instanceID); err != nil {
		return err
	}
	if enrolledCaller(ctx) != nil && r.incarnation == nil {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid_request", Field: "incarnation",
			Detail: "is required with the credential of an instance: the registration returned it"}
	}
	return nil
}

// checkSpeaker adds the instance to the access log line, and refuses a caller whose credential speaks for another one.
func checkSpeaker(ctx context.Context, instanceID string) error {
	rest.AddLogAttrs(ctx, slog.String("instance_id", instanceID))
	s := rest.ServerOf(ctx)
	// The token that all game servers share names no instance, and speaks for each.
	if s == nil || s.InstanceID == "" || s.InstanceID == instanceID {
		return nil
	}
	code := "outside_enrolment"
	if s.Deployment != nil {
		code = "outside_deployment"
	}
	return &fault.Error{Kind: fault.Forbidden, Code: code,
		Detail: "the token is valid for instance " + s.InstanceID + " alone"}
}

// deploymentOf returns the deployment for which a request speaks, nil if its token is shared by all game servers.
func deploymentOf(ctx context.Context) *provision.Joining {
	return (*provision.Joining)(rest.DeploymentOf(ctx))
}

// status is the answer to calls that concern the whole instance.
type status struct {
	InstanceID  string     `json:"instance_id"`
	Status      string     `json:"status"`
	Available   int        `json:"available"`             // seats for new sessions
	Incarnation *uuid.UUID `json:"incarnation,omitempty"` // the one that a registration has begun; nil in other answers

	// Of deployments only.
	Endpoint string     `json:"endpoint,omitempty"` // that players dial; absent until it is ready
	EndsAt   *time.Time `json:"ends_at,omitempty"`
	Desired  string     `json:"desired,omitempty"` // running or stopped

	// Credential is a new one, of an instance that registered by an enrolment.
	Credential *credential `json:"credential,omitempty"`
}

// statusOf returns the answer for an instance, which may belong to a deployment. word is the status of one that is
// ready.
func statusOf(id, word string, available int, d *db.Deployed) status {
	s := status{InstanceID: id, Status: word, Available: available}
	if d == nil {
		return s
	}
	// The instance gets no players before its provider says that it runs.
	if !d.IsReady {
		s.Status = "starting"
	}
	s.Endpoint, s.Desired = d.Endpoint, "running"
	// The instance is asked to stop: it exits by itself when its sessions have ended.
	if d.IsEnding {
		s.Desired = "stopped"
	}
	if d.EndsAt != nil {
		at := d.EndsAt.UTC()
		s.EndsAt = &at
	}
	return s
}

// checkLoad requires a load from 0 to a billion, which the store can compare.
func checkLoad(c *rest.Check, load *float64) {
	c.That(load == nil || *load >= 0 && *load <= 1e9, "load", "must be 0 to 1000000000")
}
