// Package server is a replica: it mounts the faces with what stands before them (authentication, limits, deadlines),
// listens, keeps the keys, the clock and the pulse going, and stops without losing a call. What the faces say is in
// fleet, play, openmatch and infra, how they say it in rest; nothing of the state is here.
//
// Game servers and players each have [Options.MaxInFlight] places. A call passes these steps, the cheap ones first:
//
//  1. While no place is free it is answered 503 at once, players' calls before anything else is looked at.
//  2. The token is checked, and the rate of the player: headers are all this takes, and nothing of a stranger's body is read.
//  3. The body is read, of 64 KiB at most, within [Options.BodyTimeout]. Twice as many bodies as places are read at a time;
//     one more displaces the slowest. So bodies being read take 64 MiB at most for each audience, with 512 places.
//  4. The call takes its place, or is answered 503. If the caller leaves, the place is free again when the statement that
//     runs for the call has ended. Calls that are decided in batches give it back at once: db bounds how many wait there.
//  5. [Options.CallTimeout] begins. The body is decoded and the call decided.
package server

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/fleet"
	"github.com/lattice-director/director/server/infra"
	"github.com/lattice-director/director/server/openmatch"
	"github.com/lattice-director/director/server/play"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Server is one replica. Make it with [New], then [Server.Run] it, once.
type Server struct {
	options  Options
	engine   *gin.Engine
	guarded  http.Handler // the engine behind the players' gate
	api      *http.Server
	metrics  *http.Server
	tickets  *openmatch.Server // nil where Open Match is not served
	draining atomic.Bool

	listener, metricsListener net.Listener // after Listen
}

// New makes a replica that does nothing yet. It needs no database. Errors: an option that is missing or wrong, metrics
// that are registered already.
func New(options Options) (*Server, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Server{options: o}
	if err := s.mount(); err != nil {
		return nil, err
	}
	config, err := o.tls()
	if err != nil {
		return nil, err
	}
	if err := s.mountTickets(config); err != nil {
		return nil, err
	}
	if err := o.Metrics.Watch(o.Store, o.Keys); err != nil {
		return nil, err
	}
	s.api = s.httpServer(s.handler())
	s.api.TLSConfig = config
	s.api.ReadTimeout, s.api.WriteTimeout = 10*time.Second, 30*time.Second
	s.metrics = s.httpServer(o.Metrics.Handler()) // without these two: a profile takes as long as it is asked to
	return s, nil
}

func (s *Server) mount() error {
	o := s.options
	probes := []string{"/healthz", "/readyz", "/.well-known/jwks.json"}
	var err error
	s.engine, err = rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics.HTTP, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies, CORSOrigins: o.CORSOrigins,
		QuietRoutes: append(probes, "/fleet/heartbeat"), UntracedRoutes: probes,
	})
	if err != nil {
		return err
	}
	failures := rest.NewLimiter(o.FailureRate)
	// Each has a gate of its own: players in masses keep no heartbeat out.
	servers, players := rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log), rest.NewGate(o.MaxInFlight, o.Metrics.HTTP, o.Log)
	s.guarded = players.Guard(s.engine, func(r *http.Request) bool { return play.Serves(r.URL.Path) })
	if o.servesFleet() {
		fleet.Mount(s.engine.Group("", o.before(servers, rest.FleetToken(o.FleetTokens, o.OpenFleet, failures))...), o.Store)
	}
	if o.Access.Keys != nil {
		access, err := o.verifier()
		if err != nil {
			return err
		}
		chain := o.before(players, rest.Bearer(access, failures), rest.LimitCaller(rest.NewLimiter(o.CallerRate)))
		play.Mount(s.engine.Group("", chain...), o.Store, o.Keys, o.Modes)
	}
	infra.Mount(s.engine, o.Keys, infra.Readiness{
		Database: o.Store, Keys: o.Keys, Schema: o.Schema, Timeout: o.ReadyTimeout, Draining: s.draining.Load,
	})
	return nil
}

// before is what stands before the calls of game servers, or of players, in the order of the package comment. Who judges
// their headers.
func (o Options) before(gate *rest.Gate, who ...gin.HandlerFunc) []gin.HandlerFunc {
	bodies := rest.NewBodies(2*o.MaxInFlight, o.BodyTimeout)
	return slices.Concat([]gin.HandlerFunc{gate.RefuseWhenFull}, who, []gin.HandlerFunc{bodies.Read, gate.Enter, rest.Deadline(o.CallTimeout)})
}

// mountTickets serves Open Match, where that is wanted, with what it shares with the other faces.
func (s *Server) mountTickets(config *tls.Config) (err error) {
	o := s.options
	if o.OpenMatch == nil {
		return nil
	}
	om := *o.OpenMatch
	om.Store, om.Log, om.Tracer, om.TLS, om.FailureRate, om.HTTPAddr = o.Store, o.Log, o.Tracer, config, o.FailureRate, o.Addr
	if o.Listener != nil {
		om.HTTPAddr = o.Listener.Addr().String()
	}
	if s.tickets, err = openmatch.New(om); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.tickets.Mount(s.engine)
	return nil
}

// verifier tells whose access token that is. It does not blame the player for a key set that cannot be read.
func (o Options) verifier() (func(ctx context.Context, raw string) (string, error), error) {
	o.Access.Now = o.Store.Now
	access, err := token.NewAccessVerifier(o.Access)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, raw string) (string, error) {
		ctx, cancel := context.WithTimeout(ctx, o.CallTimeout) // for a key set that is fetched meanwhile
		defer cancel()
		claims, err := access.Verify(ctx, raw)
		if errors.Is(err, token.ErrKeysUnavailable) {
			err = &db.Error{
				Kind: db.Unavailable, Code: "unavailable", Detail: "access tokens cannot be judged now", RetryAfter: time.Second, Err: err,
			}
		}
		return claims.Subject, err
	}, nil
}

// handler lets rest see only those cross-origin calls that are meant to be: by the pages listed, to the player routes.
// Without its Origin any other request is nothing special; the browser keeps the answer from the page that asked.
func (s *Server) handler() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !play.Serves(r.URL.Path) || !s.options.lists(r.Header.Get("Origin")) {
			r.Header.Del("Origin")
		}
		s.guarded.ServeHTTP(w, r)
	})
}

// lists tells whether pages of an origin may call.
func (o Options) lists(origin string) bool {
	return slices.Contains(o.CORSOrigins, "*") || slices.Contains(o.CORSOrigins, origin)
}
