package sdk

import (
	"context"
	"errors"
	"os/signal"
	"syscall"
	"time"
)

// RunUntilSignal blocks until the process is told to stop (SIGTERM or Ctrl-C), ctx ends, or the server is superseded.
// In the first two cases it leaves as [GameServer.Shutdown] does, giving matches up to grace to finish; a second signal
// ends the process as usual. The platform that sends SIGTERM must allow for grace and a few seconds more.
func (s *GameServer) RunUntilSignal(ctx context.Context, grace time.Duration) error {
	told, stop := signal.NotifyContext(ctx, syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	select {
	case <-told.Done():
	case <-s.Done():
		return errors.Join(s.Err(), s.Close(ctx))
	}
	stop()
	leave, cancel := context.WithTimeout(context.WithoutCancel(ctx), grace)
	defer cancel()
	return s.Shutdown(leave)
}
