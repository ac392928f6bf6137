package tenure

import (
	"context"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// Series is one tenure T after the other, until it stops. All fields are required.
type Series[T any] struct {
	Begin func(ctx context.Context) (T, error)
	// Hold keeps a tenure until it has to end. superseded says that others have ended it.
	Hold  func(ctx context.Context, t T) (superseded bool)
	Fence func(t T)                      // stops what a superseded tenure must not do any more
	End   func(ctx context.Context, t T) // ends a tenure because the series stops, or because ctx has ended

	Retry    func() time.Duration // after a Begin that failed
	Stopping <-chan struct{}      // closed when no further tenure is to begin
	Report   func(ctx context.Context, err error)
}

// Run returns when the series stops or ctx ends, after the last tenure has ended.
func (s Series[T]) Run(ctx context.Context) {
	for ctx.Err() == nil && !s.isStopping() {
		t, err := s.Begin(ctx)
		s.Report(ctx, err)
		switch {
		case err != nil:
			_, _ = wait.ForWake(ctx, s.Retry(), s.Stopping)
		case s.Hold(ctx, t):
			s.Fence(t)
		default:
			s.End(ctx, t)
		}
	}
}

func (s Series[T]) isStopping() bool {
	select {
	case <-s.Stopping:
		return true
	default:
		return false
	}
}
