package fleet

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/server/rest"
)

type drainRequest struct {
	InstanceID  string     `json:"instance_id"`
	Incarnation *uuid.UUID `json:"incarnation"`
	Drain       *bool      `json:"drain"` // a pointer, since a body without it must not end a drain
}

func (r *drainRequest) caller() caller { return caller{r.InstanceID, r.Incarnation} }

// Validate implements rest.Validator.
func (r *drainRequest) Validate(c *rest.Check) {
	r.caller().checkInstance(c)
	c.That(r.Drain != nil, "drain", "is required and must be true or false")
}

// drainInstance begins or ends the drain of an instance, which keeps new players away and its sessions running.
func (f face) drainInstance(ctx context.Context, in rest.In[drainRequest]) (status, error) {
	if err := in.Body.caller().checkCredential(ctx); err != nil {
		return status{}, err
	}
	now, err := f.store.SetDrain(ctx, in.Body.caller().instanceRef(), *in.Body.Drain)
	state := "ready"
	if now.IsDraining {
		state = "draining"
	}
	return status{InstanceID: in.Body.InstanceID, Status: state, Available: now.Available}, err
}
