package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/internal/base/fault"
)

// Now returns the database's time as far as this pod knows: its own clock, corrected by the most exact offset of the
// last minutes, and not corrected before the first [Store.ReadClock].
func (s *Store) Now() time.Time {
	now := s.clock.pod()
	if r := s.clock.latestReading.Load(); r != nil {
		now = now.Add(r.Offset)
	}
	return now
}

// LatestClockReading returns the offset that [Store.Now] uses; ok is false before the first measurement.
func (s *Store) LatestClockReading() (r ClockReading, ok bool) {
	if p := s.clock.latestReading.Load(); p != nil {
		return *p, true
	}
	return ClockReading{}, false
}

// ReadClock measures the offset of the pod's clock. Of the measurements of the last minutes the most exact one counts.
// Of two measurements at the same time one may not count. Errors: Unavailable, also for a measurement that took longer
// than two seconds, which does not count.
func (s *Store) ReadClock(ctx context.Context) error {
	before := s.clock.pod()
	now, err := s.q.ClockReading(ctx)
	if err != nil {
		return frame.Classify(err)
	}
	after := s.clock.pod()
	trip := after.Sub(before)
	if trip > 2*time.Second {
		return fault.NewUnavailable("the database answers too slowly to read its clock", nil)
	}
	// The database has read its clock at some time of the trip. The middle is assumed, so that the error is at most
	// half of the trip.
	reading := ClockReading{Offset: now.Sub(before.Add(trip / 2)), Roundtrip: trip, OffsetMeasuredAt: after,
		MeasuredAt: after}
	if last := s.clock.latestReading.Load(); last != nil {
		reading = last.combinedWith(reading)
	}
	s.clock.latestReading.Store(&reading)
	return nil
}

// DatabaseNow measures the offset and returns the database's time, for a command, which has no loop that measures it.
// Errors: Unavailable.
func (s *Store) DatabaseNow(ctx context.Context) (time.Time, error) {
	if err := s.ReadClock(ctx); err != nil {
		return time.Time{}, err
	}
	return s.Now(), nil
}

// Pulse records that this replica can receive heartbeats. A serving replica calls it at least each tenth of a lease.
// While no replica does, and for one lease afterwards, no lease expires (see fleet_clock in the migrations). Errors:
// Unavailable.
func (s *Store) Pulse(ctx context.Context) error {
	_, err := s.q.Pulse(ctx, s.cfg.Timing.LeaseTTL)
	return frame.Classify(err)
}
