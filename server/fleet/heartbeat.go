package fleet

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/server/rest"
)

type heartbeatRequest struct {
	InstanceID  string     `json:"instance_id"`
	Incarnation *uuid.UUID `json:"incarnation"`
	Load        *float64   `json:"load"` // nil: as before
}

func (r *heartbeatRequest) caller() caller { return caller{r.InstanceID, r.Incarnation} }

// Validate implements rest.Validator.
func (r *heartbeatRequest) Validate(c *rest.Check) {
	r.caller().checkInstance(c)
	checkLoad(c, r.Load)
}

// takeHeartbeat renews the lease of an instance, and with it a credential that is due.
func (f face) takeHeartbeat(ctx context.Context, in rest.In[heartbeatRequest]) (status, error) {
	if err := in.Body.caller().checkCredential(ctx); err != nil {
		return status{}, err
	}
	alive, err := f.store.Heartbeat(ctx, in.Body.caller().instanceRef(), in.Body.Load)
	// A refused instance must not get a credential that lets it register again.
	if err != nil {
		return status{}, err
	}
	s := statusOf(in.Body.InstanceID, "alive", alive.Available, alive.Deployed)
	s.Credential = f.renewCredential(ctx, in.Body.InstanceID)
	return s, nil
}

// endInstance ends the registration of an instance. It accepts a load, because older game servers send one.
func (f face) endInstance(ctx context.Context, in rest.In[heartbeatRequest]) (rest.None, error) {
	if err := in.Body.caller().checkCredential(ctx); err != nil {
		return rest.None{}, err
	}
	return rest.None{}, f.store.Deregister(ctx, in.Body.caller().instanceRef())
}
