package db

import (
	"context"
	"sync/atomic"
	"time"
)

// clock is this pod's clock, and its measured offset to the database's.
type clock struct {
	pod     func() time.Time
	reading atomic.Pointer[ClockReading]
}

// ClockReading is one measurement of the pod's clock against the database's.
type ClockReading struct {
	Offset    time.Duration // what to add to the pod's clock
	Roundtrip time.Duration // the measurement's uncertainty is half of it
	At        time.Time     // by the pod's clock
}

// Now returns the database's time as far as this pod knows: its own clock, corrected by the last measured offset.
func (s *Store) Now() time.Time {
	now := s.clock.pod()
	if r := s.clock.reading.Load(); r != nil {
		now = now.Add(r.Offset)
	}
	return now
}

// virtualNow is the time of statements of provisioning: nil, which means the database's, except in tests.
func (s *Store) virtualNow() *time.Time {
	if s.cfg.VirtualClock == nil {
		return nil
	}
	now := s.cfg.VirtualClock()
	return &now
}

// ClockReading returns the last measurement; ok is false before the first.
func (s *Store) ClockReading() (r ClockReading, ok bool) {
	if p := s.clock.reading.Load(); p != nil {
		return *p, true
	}
	return ClockReading{}, false
}

// ReadClock measures the offset. A measurement that takes longer than two seconds is too inexact, and is dropped. Errors:
// Unavailable.
func (s *Store) ReadClock(ctx context.Context) error {
	before := s.clock.pod()
	now, err := s.q.ClockReading(ctx)
	if err != nil {
		return classify(err)
	}
	after := s.clock.pod()
	trip := after.Sub(before)
	if trip > 2*time.Second {
		return unavailable("the database answers too slowly to read its clock", nil)
	}
	s.clock.reading.Store(&ClockReading{Offset: now.Sub(before.Add(trip / 2)), Roundtrip: trip, At: after})
	return nil
}

// Pulse records that this replica can receive heartbeats. A serving replica calls it at least each tenth of a lease. While no
// replica does, and for one lease afterwards, no lease expires (see fleet_clock in the migrations). Errors: Unavailable.
func (s *Store) Pulse(ctx context.Context) error {
	_, err := s.q.Pulse(ctx, s.cfg.Timing.LeaseTTL)
	return classify(err)
}
