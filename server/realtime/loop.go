package realtime

import (
	"context"
	"time"
)

// watchTimeout bounds one reading of what connections watch, which is repeated after seconds.
const watchTimeout = 3 * time.Second

// startLoop runs a loop until the server stops, or stop is called. It returns nil while the server does not run.
func (s *Server) startLoop(run func(ctx context.Context)) (stop context.CancelFunc) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Run may have begun to wait for the loops, and a group that is waited for must not grow from zero.
	if s.isDraining || s.runContext == nil || s.runContext.Err() != nil {
		return nil
	}
	ctx, stop := context.WithCancel(s.runContext)
	s.runningLoops.Go(func() {
		defer stop()
		run(ctx)
	})
	return stop
}

// watchLoop is a loop that runs while connections of this replica watch something: the first one starts it, the last
// one stops it. The lock of what they watch guards it.
type watchLoop struct{ cancel context.CancelFunc } // nil: it does not run

// start runs the loop, unless it runs or the server does not.
func (l *watchLoop) start(s *Server, run func(ctx context.Context)) {
	if l.cancel == nil {
		l.cancel = s.startLoop(run)
	}
}

// stop stops the loop if it runs.
func (l *watchLoop) stop() {
	if l.cancel != nil {
		l.cancel()
		l.cancel = nil
	}
}
