package server

import (
	"github.com/lattice-director/director/server/backend"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
)

// mountBackend mounts what the studio's own services call. They have slots of their own, so that a rush of players
// cannot keep them out.
func (s *Server) mountBackend(failures *rest.Limiter) error {
	o := s.options
	tokens, err := rest.ParseBackendTokens(o.BackendTokens)
	if err != nil {
		return err
	}
	gate := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log)
	forPlayers := rest.RequireBackend(tokens, rest.ScopePlayers, failures)
	forTickets := rest.RequireBackend(tokens, rest.ScopeTickets, failures)
	players := s.apiEngine.Group("", append(o.middlewares(gate, forPlayers), o.requireHere())...)
	backend.Mount(players, o.Store, o.universeName())
	play.MountBackendLoginQueue(players,
		s.apiEngine.Group("", gate.RefuseWhenFull, forPlayers, rest.AllowWaiting, o.requireHere()),
		s.loginRoutes())
	play.MountBackendTickets(s.apiEngine.Group("", append(o.middlewares(gate, forTickets), o.requireHere())...),
		s.apiEngine.Group("", gate.RefuseWhenFull, forTickets, rest.AllowWaiting, o.requireHere()), s.ticketRoutes())
	return nil
}
