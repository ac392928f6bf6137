package replay

import (
	"time"

	"github.com/lattice-director/director/match/decide"
)

// run is a replay under way.
type run struct {
	input *Input

	engine         *decide.Engine
	waitingByID    map[string]*waitingTicket
	eventHeap      events
	servers        *servers
	nextArrival    func() (Arrival, error, bool)
	pendingArrival *Arrival // the ticket that arrives next; nil: none

	replayedSums, recordedSums *sums
	reproducedCounts           Reproduced
	recordedSeeds              map[uint64]bool // of the recorded matches of the same rules
	censoredCount              int             // see Report.Censored
	lackCounts                 lackCounts
	pastCosts                  *pastTrades // nil: costs of the history are not known
	singleTickets              *singles    // nil: matches are no pairs of tickets
	progressAt                 time.Time   // the virtual time of the last call of Progress
}

// hasSameRules reports whether a recorded version of the profile has the rules that are replayed.
func (r *run) hasSameRules(version int) bool {
	return r.input.HasSameRules != nil && r.input.HasSameRules(version)
}

// recordedInstant returns when a ticket got its recorded match: its decision, or its server if capacity is limited.
func (r *run) recordedInstant(was *RecordedMatch) time.Time {
	if r.input.Capacity.Recorded {
		return was.SeatedAt
	}
	return was.DecidedAt
}

// laterTime returns the later of two times.
func laterTime(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
