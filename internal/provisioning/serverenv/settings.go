package serverenv

import (
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/token"
)

// Settings are what the environments of all deployments share.
type Settings struct {
	PublicURL string        // where game servers and providers reach the director, without a slash at its end; required
	Sealer    *token.Sealer // required
	// NATSURL is where game servers with bevygap's plugin reach the director: nats://host:port, or tls://host:port over
	// TLS. "": such servers cannot start.
	NATSURL string
}

// Server is a deployment, as far as its environment says it.
type Server struct {
	Region    string
	ID        uuid.UUID
	SealedKey []byte    // the netcode key of a version with a dialect
	EndsAt    time.Time // when the server has to be gone; zero: not known, and not said
}
