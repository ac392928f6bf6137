package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/server/rest"
)

// Options configure a [Sidecar].
type Options struct {
	// Client calls the director. Required.
	Client *sdk.Client
	// Server is what is known of the game server before it is ready; the game server may say the rest then. Load is not
	// used.
	Server sdk.ServerOptions
	// IsDeployed is set if the director has started the server: it alone says the instance id, the region, the modes and
	// the capacity.
	IsDeployed bool
	// HTTPListener and Lines listen for the game server. Lines may be nil. [Sidecar.Run] closes them.
	HTTPListener, LinesListener net.Listener
	// HealthWithin is how long a ready game server may be silent. 0: for ever.
	HealthWithin time.Duration
	// ShutdownGrace is how long players may play on after a shutdown that says no time of its own. 0: not at all.
	ShutdownGrace time.Duration
	// Log may be nil.
	Log *slog.Logger
}

// Defaults returns the defaults of what operators may change. [New] does not use them: zero values have a meaning.
func Defaults() Options {
	return Options{HealthWithin: 15 * time.Second, ShutdownGrace: 30 * time.Second}
}

// Sidecar serves one game server. Make it with [New], and Run it once.
type Sidecar struct {
	options     Options
	game        *game
	httpServer  *rest.HTTPServer
	linesServer *linesServer
}

// New returns a sidecar. Errors: a missing option.
func New(o Options) (*Sidecar, error) {
	if o.Client == nil || o.HTTPListener == nil {
		return nil, errors.New("sidecar: a client and a listener for HTTP are required")
	}
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Sidecar{options: o, game: newGame(o)}
	handler, err := s.game.httpRoutes(o.Log)
	if err != nil {
		return nil, err
	}
	s.httpServer = rest.NewHTTPServer(rest.HTTPOptions{Handler: handler, Listener: o.HTTPListener,
		WriteTimeout: callTimeout + 5*time.Second, Log: o.Log})
	if o.LinesListener != nil {
		s.linesServer = newLinesServer(s.game, o.LinesListener, o.Log)
	}
	return s, nil
}

// Run serves until the game server has shut down, or ctx ends: then the game server drains, and its players have the
// grace period to leave. It returns an error that wraps [sdk.ErrSuperseded] if another process has registered under the
// instance id.
func (s *Sidecar) Run(ctx context.Context) error {
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := s.httpServer.Serve(); err != nil {
			s.game.endWith(fmt.Errorf("sidecar: %w", err))
		}
	})
	if s.linesServer != nil {
		serving.Go(s.linesServer.acceptConns)
	}
	stop := context.AfterFunc(ctx, func() { s.game.beginShutdown(s.options.ShutdownGrace) })
	defer stop()
	s.game.watchHealth()
	<-s.game.finalStateReached
	// After the final state: listeners to events learn of it before their connections end.
	s.closeListeners()
	serving.Wait()
	return s.game.finalError()
}

// closeListeners lets calls in flight and the last events go out.
func (s *Sidecar) closeListeners() {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.linesServer != nil {
		s.linesServer.stopAccepting()
	}
	if s.httpServer.Shutdown(ctx) != nil {
		_ = s.httpServer.Close()
	}
}
