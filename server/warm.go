package server

import (
	"context"
	"log/slog"
	"time"
)

const (
	warmUpTimeout = 2 * time.Second
	warmUpPause   = 250 * time.Millisecond
	warmUpTries   = 3 // with a database that answers
)

// warmUp prepares connections before /readyz says that this replica is ready. It waits for a database that is away, without which no replica
// is ready. One that answers and is too slow, or refuses, costs the first calls time and keeps no replica out for long.
func (s *Server) warmUp(ctx context.Context) {
	defer s.warm.Store(true)
	for tries := 0; tries < warmUpTries && ctx.Err() == nil; {
		err := s.warmUpOnce(ctx)
		if err == nil {
			return
		}
		if s.options.Store.Ping(ctx) == nil {
			tries++
			s.options.Log.LogAttrs(ctx, slog.LevelWarn, "connections could not be prepared: the first calls take longer", slog.Any("error", err))
		}
		wait(ctx, warmUpPause, nil)
	}
}

func (s *Server) warmUpOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
	defer cancel()
	return s.options.Store.WarmUp(ctx)
}
