package bevygap

import "sync"

// slots bounds the open requests: all of them, and those of one address.
type slots struct {
	totalLimit, addressLimit int

	mu         sync.Mutex
	totalTaken int
	byAddress  map[string]int
}

func newSlots(total, perAddress int) *slots {
	return &slots{totalLimit: total, addressLimit: perAddress, byAddress: map[string]int{}}
}

// takeSlot takes a slot, unless all are taken. crowded reports whether the address has more than its share: the request
// then gets an error.
func (s *slots) takeSlot(address string) (crowded, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.totalTaken >= s.totalLimit {
		return false, false
	}
	// A request of a crowded address takes a slot as well, because its error frame is sent on an open request.
	s.totalTaken++
	s.byAddress[address]++
	return s.byAddress[address] > s.addressLimit, true
}

func (s *slots) releaseSlot(address string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.totalTaken--
	s.byAddress[address]--
	if s.byAddress[address] == 0 { // players come and go: the map would keep every address
		delete(s.byAddress, address)
	}
}
