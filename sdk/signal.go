package sdk

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"
)

// RunUntilSignal blocks until the process receives SIGTERM or SIGINT (Ctrl-C), ctx ends, the director wants a deployed
// server to end, or the server has ended, as when it is superseded. In all cases but the last it calls
// [GameServer.Shutdown] with grace as the time limit for running sessions. A second signal ends the process at once.
// The platform that sends SIGTERM must wait longer than grace plus 5 s before it sends SIGKILL.
func (s *GameServer) RunUntilSignal(ctx context.Context, grace time.Duration) error {
	signalled, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	select {
	case <-signalled.Done():
	case <-s.Unwanted():
	case <-s.Done():
		return errors.Join(s.Err(), s.Close(ctx))
	}
	stop()
	shutdown, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.Shutdown(shutdown)
}
