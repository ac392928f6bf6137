package provision

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/internal/base/fault"
)

// Joining names the deployment that a registration belongs to: its caller has authenticated with the deployment's
// token.
type Joining struct {
	Region  string
	ID      uuid.UUID
	TokenBy string // fingerprint of the key-encryption key that verified the token
}

// DeploymentOver is the error of a call for a deployment that has ended.
func DeploymentOver(id uuid.UUID) error {
	return fault.New(fault.Gone, "deployment_over", "deployment %s is over: stop, do not register again", id)
}
