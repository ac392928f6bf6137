package fleet

import (
	"context"
	"maps"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/rest"
)

type registerRequest struct {
	InstanceID   string             `json:"instance_id"`
	Endpoint     string             `json:"endpoint"`
	Region       string             `json:"region"`
	Modes        []string           `json:"modes"`
	Capacity     int                `json:"capacity"`
	Load         *float64           `json:"load"`
	Labels       map[string]*string `json:"labels"` // a nil value means that the label is absent
	MaxSessions  *int               `json:"max_sessions"`
	Version      string             `json:"version"`
	ReportsSeats bool               `json:"reports_seats"`
	CertDigest   string             `json:"cert_digest"`
	ProviderRef  string             `json:"provider_ref"`
	BootID       string             `json:"boot_id"`
	Replaces     *string            `json:"replaces"`
}

// maxCapacity bounds seats and sessions of an instance: what is beyond it is a mistake of a configuration, and would
// draw every player to one process.
const maxCapacity = 100_000

// Validate implements rest.Validator.
func (r *registerRequest) Validate(c *rest.Check) {
	c.Match("instance_id", r.InstanceID, rest.ID)
	// Deployments may leave out the endpoint: see checkForCaller.
	if r.Endpoint != "" {
		c.Match("endpoint", r.Endpoint, rest.Endpoint)
	}
	c.Match("region", r.Region, rest.Region)
	c.Count("modes", len(r.Modes), 1, 32) // as many as an app version may have
	c.Each("modes", r.Modes, rest.Mode)
	c.Unique("modes", r.Modes)
	c.Range("capacity", r.Capacity, 1, maxCapacity)
	checkLoad(c, r.Load)
	r.checkLabels(c)
	if r.MaxSessions != nil {
		c.Range("max_sessions", *r.MaxSessions, 1, maxCapacity)
	}
	c.Match("version", r.Version, version)
	c.Match("cert_digest", r.CertDigest, certDigest)
	c.Match("provider_ref", r.ProviderRef, providerRef)
	if r.BootID != "" {
		c.Match("boot_id", r.BootID, rest.ID)
	}
	if r.Replaces != nil {
		c.Match("replaces", *r.Replaces, incarnation)
	}
}

func (r *registerRequest) checkLabels(c *rest.Check) {
	c.Count("labels", len(r.Labels), 0, 64)
	for _, key := range slices.Sorted(maps.Keys(r.Labels)) { // sorted, so that one request always gets the same errors
		if !labelKey.Valid(key) {
			c.That(false, "labels", "must have names of "+labelKey.Description)
			continue
		}
		if value := r.Labels[key]; value != nil {
			c.Match("labels."+key, *value, labelValue)
		}
	}
}

// checkForCaller checks what depends on the caller's credential, which Validate does not know.
func (r *registerRequest) checkForCaller(isDeployment bool) error {
	// The provider of a deployment knows the endpoint that players reach, which a server behind its address translation
	// does not.
	if isDeployment {
		return nil
	}
	var c rest.Check
	if r.Endpoint == "" {
		c.Match("endpoint", r.Endpoint, rest.Endpoint)
		return c.Err()
	}
	// Any other server could name a deployment that is not its own.
	if r.ProviderRef != "" {
		c.That(false, "provider_ref", "is allowed only with the token of a deployment, in FLEET_TOKEN of its server")
	}
	return c.Err()
}

func (r *registerRequest) registration() db.Registration {
	labels := make(map[string]string, len(r.Labels))
	for key, value := range r.Labels {
		if value != nil {
			labels[key] = *value
		}
	}
	return db.Registration{
		InstanceID: r.InstanceID, Endpoint: r.Endpoint, Region: r.Region, Modes: r.Modes, Capacity: r.Capacity,
		Load: r.Load, Labels: labels, MaxSessions: r.MaxSessions, Version: r.Version, BootID: r.BootID,
		CertDigest: r.CertDigest, ProviderRef: r.ProviderRef, ReportsSeats: r.ReportsSeats,
		Replaces: r.replacedIncarnation(),
	}
}

func (r *registerRequest) replacedIncarnation() *uuid.UUID {
	if r.Replaces == nil {
		return nil
	}
	id, _ := uuid.Parse(*r.Replaces) // "none" becomes the nil UUID.
	return &id
}

func (f face) registerInstance(ctx context.Context, in rest.In[registerRequest]) (status, error) {
	if err := checkSpeaker(ctx, in.Body.InstanceID); err != nil {
		return status{}, err
	}
	deployment := deploymentOf(ctx)
	if err := in.Body.checkForCaller(deployment != nil); err != nil {
		return status{}, err
	}
	r := in.Body.registration()
	r.Joining, r.Enrolling = deployment, f.enrollingOf(ctx)
	out, err := f.store.Register(ctx, r)
	if err != nil {
		return status{}, err
	}
	s := statusOf(out.InstanceID, "registered", out.Available, out.Deployed)
	// The row of the credential was stored in the transaction of the registration; its token is made of the row.
	if out.Enrolled != nil {
		s.Credential = f.makeCredential(r.Region, out.InstanceID, *out.Enrolled)
	}
	s.Incarnation = &out.Incarnation
	return s, nil
}
