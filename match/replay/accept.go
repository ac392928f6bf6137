package replay

import (
	"hash/fnv"
	"math/rand/v2"
)

// acceptsMatch reports whether a ticket accepts its n-th match, counted from 0.
func (a Accept) acceptsMatch(t *waitingTicket, seed uint64) bool {
	if !a.Drawn {
		return t.queuedArrival.Why != Declined
	}
	// The answer depends on the ticket and the number of its ready check alone: the same ticket answers the same under
	// different rules, whose reports are compared.
	h := fnv.New64a()
	_, _ = h.Write([]byte(t.queuedArrival.Ticket.ID))
	return rand.New(rand.NewPCG(seed^h.Sum64(), uint64(t.readyChecks))).Float64() < a.Rate
}
