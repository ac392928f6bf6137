package proof

import (
	"context"
	"time"
)

// stopwatch keeps how long calls took that something repeats beside a load. Not safe for concurrent use.
type stopwatch struct {
	millis map[string][]float64 // by the name of the call
	failed int
}

// repeat makes calls, one after the other, at an interval until ctx ends.
func (s *stopwatch) repeat(ctx context.Context, interval time.Duration, names []string,
	call func(ctx context.Context, name string) error) {
	ticks := time.NewTicker(interval)
	defer ticks.Stop()
	s.millis, s.failed = map[string][]float64{}, 0
	for {
		for _, name := range names {
			start := time.Now()
			err := call(ctx, name)
			switch {
			case ctx.Err() != nil:
				return
			case err != nil:
				s.failed++
			default:
				s.millis[name] = append(s.millis[name], float64(time.Since(start))/float64(time.Millisecond))
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-ticks.C:
		}
	}
}
