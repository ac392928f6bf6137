package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/server/telemetry"
)

// loop does one thing again and again, whether it succeeds or not.
type loop struct {
	name  string
	every time.Duration   // after a success
	retry time.Duration   // after a failure
	wake  <-chan struct{} // not to wait; nil for never
	do    func(ctx context.Context) error
	log   *slog.Logger
}

// loopTimeout bounds one run: a database that does not answer must not keep a loop from trying again.
const loopTimeout = 2 * time.Second

func (s *Server) loops() []*loop {
	o := s.options
	beat := min(time.Second, o.Store.Timing().LeaseTTL/10)
	loops := []*loop{
		{name: "keys", every: o.Keys.Every(), retry: 500 * time.Millisecond, wake: o.Keys.Wanted(), do: o.Keys.Refresh},
		{name: "pulse", every: beat, retry: beat, do: o.Store.Pulse},
		{name: "clock", every: 10 * time.Second, retry: 250 * time.Millisecond, do: o.Store.ReadClock},
		{name: "snapshot", every: telemetry.SampleEvery, retry: telemetry.SampleEvery, do: func(ctx context.Context) error {
			return o.Metrics.SampleSnapshot(ctx, o.Store)
		}},
	}
	for _, l := range loops {
		l.log = o.Log.With(slog.String("loop", l.name))
	}
	return loops
}

func (l *loop) run(ctx context.Context) {
	failing := false
	for ctx.Err() == nil {
		err := l.once(ctx)
		if ctx.Err() != nil {
			return
		}
		l.tell(ctx, err, failing)
		failing = err != nil
		l.pause(ctx, failing)
	}
}

func (l *loop) once(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loopTimeout)
	defer cancel()
	return l.do(ctx)
}

// tell logs a change only: an outage is one line, not one a second.
func (l *loop) tell(ctx context.Context, err error, wasFailing bool) {
	switch {
	case err != nil && !wasFailing:
		l.log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.Any("error", err))
	case err == nil && wasFailing:
		l.log.LogAttrs(ctx, slog.LevelInfo, "works again")
	}
}

// pause waits for the next run, at least as long as after a failure: however many wake it, the database is asked
// only so often.
func (l *loop) pause(ctx context.Context, failed bool) {
	wait(ctx, l.retry, nil)
	if !failed {
		wait(ctx, l.every-l.retry, l.wake)
	}
}

func wait(ctx context.Context, d time.Duration, wake <-chan struct{}) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-ctx.Done():
	}
}
