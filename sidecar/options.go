package sidecar

import (
	"log/slog"
	"net"
	"time"

	"github.com/lattice-director/director/sdk"
)

// Options configure a [Sidecar].
type Options struct {
	// Client calls the director. Required.
	Client *sdk.Client
	// Server is what is known of the game server before it is ready; its announcement may say the rest. Load is not
	// used.
	Server sdk.ServerOptions
	// IsDeployed is set if the director has started the server: it alone says the instance id, the region, the modes
	// and the capacity.
	IsDeployed bool
	// The listeners for the game server. LinesListener may be nil. [Sidecar.Run] closes them.
	HTTPListener, LinesListener net.Listener
	// HealthWithin is how long a ready game server may be silent. 0: without a bound.
	HealthWithin time.Duration
	// ShutdownGrace is how long players may stay after a shutdown that names no grace period. 0: not at all.
	ShutdownGrace time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Defaults returns the defaults of what operators may change. [New] does not use them: zero values have a meaning.
func Defaults() Options {
	return Options{HealthWithin: 15 * time.Second, ShutdownGrace: 30 * time.Second}
}
