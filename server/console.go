package server

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"github.com/lattice-director/director/server/console"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Console configures the operators' console. Fields that are zero have the value of the replica.
type Console struct {
	console.Options

	Addr     string // "" means 127.0.0.1:8090. Listener, if set, is used instead.
	Listener net.Listener
}

// ConsoleDefaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func ConsoleDefaults() Console {
	return Console{Options: console.Options{SessionTTL: console.DefaultSessionTTL}}
}

// consoleServer is the console on its listener.
type consoleServer struct {
	http     *rest.HTTPServer
	listener net.Listener           // after Listen
	keys     func() token.SetStatus // of its issuer of logins; nil: there is none
}

// mountConsole makes the console, if the options have it, with the settings that all faces share.
func (s *Server) mountConsole(config *tls.Config) error {
	o := s.options
	if o.Console == nil {
		return nil
	}
	options := o.Console.Options
	options.Store, options.Doctor.Store = cmp.Or[console.Store](options.Store, o.Store), cmp.Or(options.Doctor.Store, o.Store)
	options.Universe, options.Explain = cmp.Or(options.Universe, o.universe()), cmp.Or[console.Explainer](options.Explain, s.explainer)
	options.FailureRate = cmp.Or(options.FailureRate, o.FailureRate)
	options.Log, options.Metrics, options.Tracer = cmp.Or(options.Log, o.Log), cmp.Or(options.Metrics, o.Metrics.HTTP), cmp.Or(options.Tracer, o.Tracer)
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
	s.console = &consoleServer{http: s.httpServer(handler, config), keys: handler.LoginKeys()}
	s.console.http.OnShutdown(handler.Stop) // Shutdown waits for streams, which end only by this.
	return nil
}

func (s *Server) listenConsole(ctx context.Context) (err error) {
	if s.console == nil || s.console.listener != nil {
		return nil
	}
	addr := s.options.Console.Addr
	if addr == "" {
		addr = "127.0.0.1:8090"
	}
	s.console.listener, err = listen(ctx, s.options.Console.Listener, addr)
	return err
}

// stopConsole ends its streams and waits for its calls. The channel gets the error.
func (s *Server) stopConsole(ctx context.Context) <-chan error {
	stopped := make(chan error, 1)
	if s.console == nil {
		stopped <- nil
	} else {
		go func() { stopped <- s.console.http.Shutdown(ctx) }()
	}
	return stopped
}

// ConsoleAddr returns the address of the console, after Listen; nil when it is not served.
func (s *Server) ConsoleAddr() net.Addr {
	if s.console == nil || s.console.listener == nil {
		return nil
	}
	return s.console.listener.Addr()
}
