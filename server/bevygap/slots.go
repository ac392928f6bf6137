package bevygap

import "sync"

// slots bounds the open requests: all of them, and those of one address.
type slots struct {
	total, perAddress int

	mu   sync.Mutex
	open int
	of   map[string]int
}

func newSlots(total, perAddress int) *slots {
	return &slots{total: total, perAddress: perAddress, of: map[string]int{}}
}

// take takes a slot, unless all are taken. crowded reports whether the address has more than its share: the request then gets an error.
func (s *slots) take(address string) (crowded, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open >= s.total {
		return false, false
	}
	s.open++
	s.of[address]++
	return s.of[address] > s.perAddress, true
}

func (s *slots) release(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
	if s.of[address]--; s.of[address] == 0 {
		delete(s.of, address)
	}
}
