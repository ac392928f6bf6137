package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/server/telemetry"
)

// backgroundRuns returns what runs until the replica has stopped.
func (s *Server) backgroundRuns() []func(context.Context) {
	all := []func(context.Context){s.warmUp}
	for _, l := range s.repeatedLoops() {
		all = append(all, l.Run)
	}
	if s.ticketHub != nil {
		all = append(all, func(ctx context.Context) { _ = s.ticketHub.Run(ctx) }) // its only error is a second Run
	}
	if s.bevygap != nil {
		all = append(all, s.bevygap.Run)
	}
	if s.openMatch != nil {
		all = append(all, s.openMatch.Run)
	}
	if s.agents != nil {
		all = append(all, s.agents.runAll)
	}
	if s.realtime != nil {
		all = append(all, s.realtime.Run)
	}
	return all
}

// loopTimeout bounds one run, so that a database that does not answer cannot stop the retries.
const loopTimeout = 2 * time.Second

// repeatedLoops returns what a replica repeats, after failures too.
func (s *Server) repeatedLoops() []follow.Loop {
	o := s.options
	// There are ten pulses within a lease, so that some lost ones let no lease expire.
	pulse := min(time.Second, o.Store.Timing().LeaseTTL/10)
	outages, guard := outage.New(o.Log), panics.New(o.Log, nil)
	cells, _ := o.Store.Subscribe(db.TopicCells, "") // ends with the store
	// loop runs again after each interval, or when wake says so, but not before retry is over: this bounds the load on
	// the database, however often the loop is woken.
	loop := func(name string, every, retry time.Duration, do func(context.Context) error,
		wake <-chan struct{}) follow.Loop {
		return follow.Loop{
			Name: name, Every: every, Retry: retry, Timeout: loopTimeout, Wakes: follow.Wakes{wake}, Guard: guard,
			Report: outages.Call(name).Report,
			Pause:  func(time.Duration) time.Duration { return retry },
			Do:     func(ctx context.Context, _ bool) error { return do(ctx) },
		}
	}
	// Cells are read almost at once when a region has moved, because callers wait for that.
	readCells := loop("cells", 2*time.Second, 2*time.Second, o.Store.ReadCells, cells)
	readCells.Pause = func(time.Duration) time.Duration { return 20 * time.Millisecond }
	return []follow.Loop{
		loop("keys", o.Keys.RefreshInterval(), 500*time.Millisecond, o.Keys.Refresh, o.Keys.RefreshRequests()),
		loop("pulse", pulse, pulse, o.Store.Pulse, nil),
		loop("clock", 10*time.Second, 250*time.Millisecond, o.Store.ReadClock, nil),
		readCells,
		loop("report", reportEvery, time.Second, s.reportState, nil),
		loop("refusals", time.Second, time.Second, s.refusalBook.Flush, nil),
		loop("requests", countEvery, time.Second, s.countRequests, nil),
		loop("snapshot", telemetry.SampleEvery, telemetry.SampleEvery,
			func(ctx context.Context) error { return o.Metrics.SampleSnapshot(ctx, o.Store) }, nil),
	}
}

const (
	warmUpTimeout = 2 * time.Second
	warmUpPause   = 250 * time.Millisecond
	warmUpTries   = 3 // with a database that answers
)

// warmUp prepares connections before /readyz says that this replica is ready. It waits while the database does not
// answer, without which no replica is ready. If the database answers, but is too slow or refuses, warmUp gives up after
// some tries: the first calls then take longer.
func (s *Server) warmUp(ctx context.Context) {
	defer s.isWarm.Store(true)
	for tries := 0; tries < warmUpTries && ctx.Err() == nil; {
		err := s.warmUpOnce(ctx)
		if err == nil {
			return
		}
		// A try counts only if the database answers.
		if s.options.Store.Ping(ctx) == nil {
			tries++
			s.options.Log.LogAttrs(ctx, slog.LevelWarn,
				"connections could not be prepared: the first calls take longer", slog.Any("error", err))
		}
		wait.For(ctx, warmUpPause)
	}
}

func (s *Server) warmUpOnce(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, warmUpTimeout)
	defer cancel()
	if err := s.options.Store.ReadCells(ctx); err != nil {
		return err
	}
	return s.options.Store.WarmUp(ctx)
}
