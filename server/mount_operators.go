package server

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/ops"
	"github.com/lattice-director/director/server/rest"
)

// operatorCalls is how many calls of operators run at a time: they are few, and must not take slots of others.
const operatorCalls = 16

// mountOperators mounts what operators call.
func (s *Server) mountOperators(failures *rest.Limiter) {
	o := s.options
	gate, auth := rest.NewGate(operatorCalls, o.Metrics.HTTP, o.Log), rest.RequireOperator(o.OpsTokens, failures)
	shortCalls := s.apiEngine.Group("", o.middlewares(gate, auth)...)
	// Only profiles concern the universe, which another cell may serve.
	ops.Mount(shortCalls.Group("", o.requireHere()), o.Store, o.universeName())
	ops.MountLobby(shortCalls, o.Store)
	ops.MountPlayers(shortCalls, o.Store)
	ops.MountEvents(s.apiEngine.Group("", gate.RefuseWhenFull, auth, rest.AllowWaiting), ops.Events{
		EventLog: o.Store.Pool(), EventKinds: db.EventKinds, CallTimeout: o.CallTimeout, Stopping: s.stopping,
	})
	s.mountExplain(gate, auth)
}

// mountConsole makes the console, if the options have it, with the settings that all faces share.
func (s *Server) mountConsole(config *tls.Config) error {
	o := s.options
	if o.Console == nil {
		return nil
	}
	options := o.Console.Options
	options.Store = cmp.Or[console.Store](options.Store, o.Store)
	options.Doctor.Store = cmp.Or(options.Doctor.Store, o.Store)
	options.Universe = cmp.Or(options.Universe, o.universeName())
	options.Explain = cmp.Or[console.Explainer](options.Explain, s.explainer)
	options.FailureRate = cmp.Or(options.FailureRate, o.FailureRate)
	options.Log = cmp.Or(options.Log, o.Log)
	options.Metrics = cmp.Or(options.Metrics, o.Metrics.HTTP.OfOperators())
	options.Tracer = cmp.Or(options.Tracer, o.Tracer)
	if options.Tokens == nil {
		options.Tokens = o.OpsTokens
	}
	if options.TrustedProxies == nil {
		options.TrustedProxies = o.TrustedProxies
	}
	handler, err := console.New(options)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.consoleKeys = handler.LoginKeys()
	s.console = s.httpServer(handler, config, cmp.Or(o.Console.Addr, "127.0.0.1:8090"), o.Console.Listener)
	s.console.OnShutdown(handler.Stop) // Shutdown waits for streams, which end only by this.
	return nil
}

// explainTimeout bounds an explanation, which waits for earlier ones and then reads the whole queue.
const explainTimeout = 20 * time.Second

func (s *Server) mountExplain(operators *rest.Gate, auth gin.HandlerFunc) {
	o := s.options
	ops.MountExplain(s.apiEngine.Group("",
		append(o.untimedMiddlewares(operators, auth), o.requireHere(), rest.SetDeadline(explainTimeout))...),
		s.explainer)
}
