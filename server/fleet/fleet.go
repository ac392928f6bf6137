// Package fleet is the face that game servers call: register, heartbeat, seat reports, lists of clients, sessions,
// drain and deregister, as specified in api/openapi.yaml. It translates JSON into calls of the store and decides
// nothing: db decides about leases, incarnations and seats. Authentication, limits and deadlines are set where server
// mounts the routes.
package fleet

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/provision"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	NoteRefusedRegistration(ctx context.Context, of provision.Joining, why string) error
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (db.Alive, error)
	Deregister(ctx context.Context, ref db.InstanceRef) error
	SetDrain(ctx context.Context, ref db.InstanceRef, drain bool) (db.DrainStatus, error)
	ReportSeats(ctx context.Context, r db.SeatReport) (db.SeatReportResult, error)
	ReportClients(ctx context.Context, l db.ClientList) (db.ClientListResult, error)
	Now() time.Time
	RenewCredential(ctx context.Context, region, instance string, credential uuid.UUID,
		tokensBy string) (expiresAt time.Time, ok bool, err error)
}

type face struct {
	store        Store
	serverTokens *token.ServerTokens
}

// Mount adds the routes of this face under /fleet. tokens makes the credentials of game servers that register by an
// enrolment; nil: none does.
func Mount(r gin.IRouter, store Store, tokens *token.ServerTokens) {
	f := face{store, tokens}
	r.POST("/fleet/register", rest.NoteRefusals(f.noteRefusal), rest.Handle(http.StatusOK, f.registerInstance))
	// The token of an enrolment registers game servers, and opens nothing else.
	r = r.Group("", rest.RefuseEnrolments)
	r.POST("/fleet/heartbeat", rest.Handle(http.StatusOK, f.takeHeartbeat))
	r.POST("/fleet/deregister", rest.Handle(http.StatusNoContent, f.endInstance))
	r.POST("/fleet/seats", rest.Handle(http.StatusOK, f.reportSeats))
	r.POST("/fleet/clients", rest.Handle(http.StatusOK, f.reportClients))
	r.POST("/fleet/drain", rest.Handle(http.StatusOK, f.drainInstance))
}

// caller identifies the instance in every call after register.
type caller struct {
	InstanceID  string     `json:"instance_id"`
	Incarnation *uuid.UUID `json:"incarnation"` // nil for game servers that do not send it
}

func (r caller) checkInstance(c *rest.Check) { c.Match("instance_id", r.InstanceID, rest.ID) }

func (r caller) instanceRef() db.InstanceRef {
	return db.InstanceRef{InstanceID: r.InstanceID, Incarnation: r.Incarnation}
}

// speaksFor refuses a caller whose credential speaks for another instance. One that registered by an enrolment names its
// incarnation: the end of the incarnation is what ends a credential that an operator has revoked.
func (r caller) speaksFor(ctx context.Context) error {
	if err := speaksFor(ctx, r.InstanceID); err != nil {
		return err
	}
	if enrolledCaller(ctx) != nil && r.Incarnation == nil {
		return &fault.Error{Kind: fault.Invalid, Code: "invalid_request", Field: "incarnation",
			Detail: "is required with the credential of an instance: the registration returned it"}
	}
	return nil
}

// speaksFor adds the instance to the access log line, and refuses a caller whose credential speaks for another one.
func speaksFor(ctx context.Context, instanceID string) error {
	rest.AddLogAttrs(ctx, slog.String("instance_id", instanceID))
	s := rest.ServerOf(ctx)
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

// checkLoad requires a load from 0 to a billion, which the store can compare.
func checkLoad(c *rest.Check, load *float64) {
	c.That(load == nil || *load >= 0 && *load <= 1e9, "load", "must be 0 to 1000000000")
}

type heartbeatRequest struct {
	caller

	Load *float64 `json:"load"`
}

// Validate implements rest.Validator.
func (r *heartbeatRequest) Validate(c *rest.Check) {
	r.checkInstance(c)
	checkLoad(c, r.Load)
}

// status is the answer to calls that concern the whole instance.
type status struct {
	InstanceID string `json:"instance_id"`
	Status     string `json:"status"`
	Available  int    `json:"available"` // seats for new sessions

	// Of deployments only.
	Endpoint string     `json:"endpoint,omitempty"` // that players dial; absent until it is ready
	EndsAt   *time.Time `json:"ends_at,omitempty"`
	Desired  string     `json:"desired,omitempty"` // running or stopped

	// Of instances that registered by an enrolment, when it is new.
	Credential *credential `json:"credential,omitempty"`
}

// statusOf returns the answer for an instance, which may belong to a deployment. word is the status of one that is
// ready.
func statusOf(id, word string, available int, d *db.Deployed) status {
	s := status{InstanceID: id, Status: word, Available: available}
	if d == nil {
		return s
	}
	if !d.IsReady {
		s.Status = "starting"
	}
	s.Endpoint, s.Desired = d.Endpoint, "running"
	if d.IsEnding {
		s.Desired = "stopped"
	}
	if d.EndsAt != nil {
		at := d.EndsAt.UTC()
		s.EndsAt = &at
	}
	return s
}

func (f face) takeHeartbeat(ctx context.Context, in rest.In[heartbeatRequest]) (status, error) {
	if err := in.Body.speaksFor(ctx); err != nil {
		return status{}, err
	}
	alive, err := f.store.Heartbeat(ctx, in.Body.instanceRef(), in.Body.Load)
	s := statusOf(in.Body.InstanceID, "alive", alive.Available, alive.Deployed)
	if err == nil {
		s.Credential = f.renewCredential(ctx, in.Body.InstanceID)
	}
	return s, err
}

// endInstance accepts a load, because older game servers send one.
func (f face) endInstance(ctx context.Context, in rest.In[heartbeatRequest]) (rest.None, error) {
	if err := in.Body.speaksFor(ctx); err != nil {
		return rest.None{}, err
	}
	return rest.None{}, f.store.Deregister(ctx, in.Body.instanceRef())
}

type drainRequest struct {
	caller

	Drain *bool `json:"drain"`
}

// Validate implements rest.Validator.
func (r *drainRequest) Validate(c *rest.Check) {
	r.checkInstance(c)
	c.That(r.Drain != nil, "drain", "is required and must be true or false")
}

func (f face) drainInstance(ctx context.Context, in rest.In[drainRequest]) (status, error) {
	if err := in.Body.speaksFor(ctx); err != nil {
		return status{}, err
	}
	now, err := f.store.SetDrain(ctx, in.Body.instanceRef(), *in.Body.Drain)
	state := "ready"
	if now.IsDraining {
		state = "draining"
	}
	return status{InstanceID: in.Body.InstanceID, Status: state, Available: now.Available}, err
}

// deploymentOf returns the deployment for which a request speaks, nil if its token is shared by all game servers.
func deploymentOf(ctx context.Context) *provision.Joining {
	return (*provision.Joining)(rest.DeploymentOf(ctx))
}
