package sidecar

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/lattice-director/director/server/rest"
)

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
	// An answer may take callTimeout, for a call of the director; the rest is for writing it.
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
	// After the final state was published, so that listeners receive it before their connections end.
	s.closeListeners()
	serving.Wait()
	return s.game.finalError()
}

// closeListeners lets calls in flight and the last events go out.
func (s *Sidecar) closeListeners() {
	// Clients are on this machine and read at once; one that does not read must not keep a pod from ending.
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.linesServer != nil {
		s.linesServer.stopAccepting()
	}
	if s.httpServer.Shutdown(ctx) != nil {
		_ = s.httpServer.Close()
	}
}
