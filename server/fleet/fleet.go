// Package fleet is the face that game servers call: register, heartbeat, seat reports, drain and deregister, as
// api/openapi.yaml describes them. It translates JSON into calls of the store and decides nothing itself: leases,
// incarnations and seats are db's. Who may call, how often and for how long is said where server mounts it.
package fleet

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

// Store is what of db.Store this face calls.
type Store interface {
	Register(ctx context.Context, r db.Registration) (db.Registered, error)
	Heartbeat(ctx context.Context, ref db.InstanceRef, load *float64) (available int, err error)
	Deregister(ctx context.Context, ref db.InstanceRef) error
	SetDrain(ctx context.Context, ref db.InstanceRef, drain bool) (available int, err error)
	ReportSeats(ctx context.Context, r db.SeatReport) (db.SeatReportResult, error)
}

type face struct{ store Store }

// Mount adds the routes of this face under /fleet.
func Mount(r gin.IRouter, store Store) {
	f := face{store}
	r.POST("/fleet/register", rest.Handle(http.StatusOK, f.register))
	r.POST("/fleet/heartbeat", rest.Handle(http.StatusOK, f.heartbeat))
	r.POST("/fleet/deregister", rest.Handle(http.StatusNoContent, f.deregister))
	r.POST("/fleet/seats", rest.Handle(http.StatusOK, f.seats))
	r.POST("/fleet/drain", rest.Handle(http.StatusOK, f.drain))
}

// caller is how every call after register names the instance.
type caller struct {
	InstanceID  string     `json:"instance_id"`
	Incarnation *uuid.UUID `json:"incarnation"` // nil for servers that know none
}

func (r caller) check(c *rest.Check) { c.Match("instance_id", r.InstanceID, rest.ID) }

func (r caller) ref() db.InstanceRef {
	return db.InstanceRef{InstanceID: r.InstanceID, Incarnation: r.Incarnation}
}

// note has the access log name the instance.
func note(ctx context.Context, instanceID string) {
	rest.AddLogAttrs(ctx, slog.String("instance_id", instanceID))
}

// checkLoad wants a load that the store can compare: any number from 0 to a billion.
func checkLoad(c *rest.Check, load *float64) {
	c.That(load == nil || *load >= 0 && *load <= 1e9, "load", "must be 0 to 1000000000")
}

type heartbeatRequest struct {
	caller

	Load *float64 `json:"load"`
}

// Validate implements rest.Validator.
func (r *heartbeatRequest) Validate(c *rest.Check) {
	r.check(c)
	checkLoad(c, r.Load)
}

// status is the answer to calls about the instance as a whole.
type status struct {
	InstanceID string `json:"instance_id"`
	Status     string `json:"status"`
	Available  int    `json:"available"` // seats for new sessions
}

func (f face) heartbeat(ctx context.Context, in rest.In[heartbeatRequest]) (status, error) {
	note(ctx, in.Body.InstanceID)
	available, err := f.store.Heartbeat(ctx, in.Body.ref(), in.Body.Load)
	return status{in.Body.InstanceID, "alive", available}, err
}

// deregister takes a load, because older game servers send one.
func (f face) deregister(ctx context.Context, in rest.In[heartbeatRequest]) (rest.None, error) {
	note(ctx, in.Body.InstanceID)
	return rest.None{}, f.store.Deregister(ctx, in.Body.ref())
}

type drainRequest struct {
	caller

	Drain *bool `json:"drain"`
}

// Validate implements rest.Validator.
func (r *drainRequest) Validate(c *rest.Check) {
	r.check(c)
	c.That(r.Drain != nil, "drain", "is required and must be true or false")
}

func (f face) drain(ctx context.Context, in rest.In[drainRequest]) (status, error) {
	note(ctx, in.Body.InstanceID)
	word := "ready"
	if *in.Body.Drain {
		word = "draining"
	}
	available, err := f.store.SetDrain(ctx, in.Body.ref(), *in.Body.Drain)
	return status{in.Body.InstanceID, word, available}, err
}
