package db

// HeldCalls returns how many calls wait for regions to be flipped.
func (s *Store) HeldCalls() int {
	s.heldCalls.mu.Lock()
	defer s.heldCalls.mu.Unlock()
	return s.heldCalls.count
}

// MaxHeldCalls is how many may.
const MaxHeldCalls = maxHeldCalls
