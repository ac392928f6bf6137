package bevygap

import "sync"

// slots bounds the open requests: all of them, and those of one address.
type slots struct {
	limit, addressLimit int

	mu        sync.Mutex
	total     int
	byAddress map[string]int
}

func newSlots(total, perAddress int) *slots {
	return &slots{limit: total, addressLimit: perAddress, byAddress: map[string]int{}}
}

// take takes a slot, unless all are taken. crowded reports whether the address has more than its share: the request
// then gets an error.
func (s *slots) take(address string) (crowded, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.total >= s.limit {
		return false, false
	}
	s.total++
	s.byAddress[address]++
	return s.byAddress[address] > s.addressLimit, true
}

func (s *slots) release(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.total--
	if s.byAddress[address]--; s.byAddress[address] == 0 {
		delete(s.byAddress, address)
	}
}
