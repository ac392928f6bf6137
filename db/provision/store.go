package provision

import (
	"time"

	"github.com/lattice-director/director/db/internal/frame"
)

// Store reads and decides what runs for pools. It is safe for concurrent use. The Store of package db embeds one.
type Store struct {
	frame        frame.Frame
	sendNotice   func(topic, region string)
	dbNow        func() time.Time // the database's time, as far as this process knows
	virtualClock func() time.Time // nil: the database's clock
	checkHere    func(region string) error
}

// Options are what the Store of package db gives to its part.
type Options struct {
	Frame  frame.Frame
	Notify func(topic, region string) // does not block
	Now    func() time.Time           // the database's time, as far as this process knows
	// CheckHere refuses regions that another cell serves; nil: this cell serves all.
	CheckHere    func(region string) error
	VirtualClock func() time.Time // replaces the clock of statements; nil: the database's
}

// New makes a Store.
func New(o Options) *Store {
	if o.CheckHere == nil {
		o.CheckHere = func(string) error { return nil }
	}
	return &Store{frame: o.Frame, sendNotice: o.Notify, dbNow: o.Now, virtualClock: o.VirtualClock,
		checkHere: o.CheckHere}
}

// virtualNow returns the time by which statements compare; nil: the database's. Only tests have another one.
func (s *Store) virtualNow() *time.Time {
	if s.virtualClock == nil {
		return nil
	}
	now := s.virtualClock()
	return &now
}
