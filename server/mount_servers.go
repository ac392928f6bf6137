package server

import (
	"context"
	"crypto/sha256"

	"github.com/gin-gonic/gin"
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/hook"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// fleetTokens returns what authenticates game servers.
func (o Options) fleetTokens(failures *rest.Limiter) rest.FleetTokens {
	return rest.FleetTokens{
		SharedSecrets: o.FleetTokens, IsOpen: o.OpenFleet, ServerTokens: o.ServerTokens, Now: o.Store.Now,
		FailureLimiter: failures,
		CheckHere:      o.Store.CheckHere,
		EnrolmentDigest: func(ctx context.Context, region string, id uuid.UUID) (*[sha256.Size]byte, error) {
			ctx, cancel := context.WithTimeout(ctx, o.CallTimeout)
			defer cancel()
			return o.Store.EnrolmentDigest(ctx, db.EnrolmentID{Region: region, ID: id})
		},
	}
}

// mountFleet mounts what game servers call.
func (s *Server) mountFleet(gate *rest.Gate, auth gin.HandlerFunc) {
	o := s.options
	fleet.Mount(s.apiEngine.Group("", o.middlewares(gate, auth)...), o.Store, o.ServerTokens)
	s.waitingServers = fleet.MountSessions(s.apiEngine.Group("", gate.RefuseWhenFull, auth, rest.AllowWaiting),
		fleet.Sessions{
			Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping,
		})
}

// mountDeployments mounts what game servers that were built for Edgegap call, and what providers call. A webhook takes
// no place of game servers: its path is its credential, and its body is not read.
func (s *Server) mountDeployments(gate *rest.Gate, failures *rest.Limiter) {
	o := s.options
	auth := rest.DeploymentToken(o.ServerTokens, token.ForContext, failures)
	fleet.MountContext(s.apiEngine.Group("", gate.RefuseWhenFull, auth, rest.AllowWaiting), fleet.Context{
		Store: o.Store, MaxWaiters: o.MaxWaiters, CallTimeout: o.CallTimeout, Stopping: s.stopping,
	})
	providers := rest.NewGate(hooksInFlight, o.Metrics.HTTP, o.Log)
	hook.Mount(s.apiEngine.Group("", providers.RefuseWhenFull, rest.DropBody, providers.Enter,
		rest.SetDeadline(o.CallTimeout)), o.Store, o.ServerTokens)
}

// hooksInFlight bounds the webhooks that are decided at a time.
const hooksInFlight = 32
