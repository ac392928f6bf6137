package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/server/telemetry"
)

// loop runs a function repeatedly, after failures too.
type loop struct {
	name  string
	every time.Duration   // from a successful run to the next
	retry time.Duration   // from a failed run to the next, and the shortest pause after any run
	wake  <-chan struct{} // starts the next run early; nil for never
	do    func(ctx context.Context) error
	log   *slog.Logger
}

// loopTimeout bounds one run, so that a database that does not answer cannot stop the retries.
const loopTimeout = 2 * time.Second

// reportEvery is the interval of the reports in ops.process_reports: doctor takes a process for frozen that misses three.
const reportEvery = 5 * time.Second

// report stores what this replica reports of itself, and tests whether the database takes writes.
func (s *Server) report(ctx context.Context) error {
	return s.options.Store.Report(ctx, s.troubles())
}

func (s *Server) loops() []*loop {
	o := s.options
	pulse := min(time.Second, o.Store.Timing().LeaseTTL/10)
	loops := []*loop{
		{name: "keys", every: o.Keys.Every(), retry: 500 * time.Millisecond, wake: o.Keys.RefreshRequests(), do: o.Keys.Refresh},
		{name: "pulse", every: pulse, retry: pulse, do: o.Store.Pulse},
		{name: "clock", every: 10 * time.Second, retry: 250 * time.Millisecond, do: o.Store.ReadClock},
		{name: "report", every: reportEvery, retry: time.Second, do: s.report},
		{name: "refusals", every: time.Second, retry: time.Second, do: s.refusals.Flush},
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
		err := l.runOnce(ctx)
		if ctx.Err() != nil {
			return
		}
		l.logChange(ctx, err, failing)
		failing = err != nil
		l.pause(ctx, failing)
	}
}

func (l *loop) runOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, loopTimeout)
	defer cancel()
	return l.do(ctx)
}

// logChange logs the first failure and the first success after it: an outage is two lines, not one a second.
func (l *loop) logChange(ctx context.Context, err error, wasFailing bool) {
	switch {
	case err != nil && !wasFailing:
		l.log.LogAttrs(ctx, slog.LevelWarn, "failing", slog.Any("error", err))
	case err == nil && wasFailing:
		l.log.LogAttrs(ctx, slog.LevelInfo, "works again")
	}
}

// pause waits for the next run. The first part of the pause, as long as after a failure, cannot be cut short: this
// bounds the load on the database, however often the loop is woken.
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
