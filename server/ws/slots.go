package ws

import "sync/atomic"

// Slots bound how many of something there are at a time. Make them with [NewSlots]. Safe for concurrent use.
type Slots struct {
	limit      int64
	takenCount atomic.Int64
}

// NewSlots returns that many slots.
func NewSlots(limit int) *Slots { return &Slots{limit: int64(limit)} }

// Take takes a slot, and returns false if all are taken.
func (s *Slots) Take() bool {
	if s.takenCount.Add(1) > s.limit {
		s.takenCount.Add(-1)
		return false
	}
	return true
}

// Release gives a slot back.
func (s *Slots) Release() { s.takenCount.Add(-1) }

// Count returns how many are taken.
func (s *Slots) Count() int64 { return s.takenCount.Load() }
