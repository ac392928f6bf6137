package loop

import (
	"cmp"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// waitingMatches are the matches that found no server. Their tickets keep their place in the queue and are no candidates
// meanwhile.
type waitingMatches struct {
	jobs          []*job // that with the oldest ticket first
	jobByTicket   map[string]*job
	shownTickets  map[string]bool // tickets that the database shows as waiting for a server
	storedDemand  []db.Demand     // what this worker wrote last
	isDemandStale bool            // the database may have demand of former owners
}

const (
	// waitAtMost is how long a decided match waits for a server. Then its tickets are candidates again.
	waitAtMost = 30 * time.Second
	// maxWaiting bounds the matches of this worker that wait: the tickets of further ones, the newest, are candidates
	// again.
	maxWaiting = 10_000
)

// addJob adds a match, by its oldest ticket.
func (w *waitingMatches) addJob(j *job) {
	at, _ := slices.BinarySearchFunc(w.jobs, j, func(a, b *job) int {
		return cmp.Or(a.oldestCreated.Compare(b.oldestCreated), slices.Compare(a.match.ID[:], b.match.ID[:]))
	})
	j.waitedForServer = true
	w.jobs = slices.Insert(w.jobs, at, j)
	if w.jobByTicket == nil {
		w.jobByTicket = map[string]*job{}
	}
	for _, id := range j.ticketIDs() {
		w.jobByTicket[id] = j
	}
}

// unshownChanges returns the tickets that wait for a server and are not shown so, and those that are shown so and do not
// wait any more.
func (w *waitingMatches) unshownChanges() (begin, end []string) {
	for id := range w.jobByTicket {
		if !w.shownTickets[id] {
			begin = append(begin, id)
		}
	}
	for id := range w.shownTickets {
		if w.jobByTicket[id] == nil {
			end = append(end, id)
		}
	}
	return begin, end
}

// removeJobOf removes and returns the match that has a ticket; nil: none has.
func (w *waitingMatches) removeJobOf(ticket string) *job {
	found := w.jobByTicket[ticket]
	if found == nil {
		return nil
	}
	w.removeJobs(func(j *job) bool { return j == found })
	return found
}

// forgetTickets takes the tickets of a match that no longer waits out of jobByTicket.
func (w *waitingMatches) forgetTickets(j *job) {
	for _, id := range j.ticketIDs() {
		delete(w.jobByTicket, id)
	}
}

// removeJobs removes and returns the matches of which isRemoved is true, the oldest first.
func (w *waitingMatches) removeJobs(isRemoved func(*job) bool) (removed []*job) {
	var rest []*job
	for _, j := range w.jobs {
		if isRemoved(j) {
			w.forgetTickets(j)
			removed = append(removed, j)
		} else {
			rest = append(rest, j)
		}
	}
	w.jobs = rest
	return removed
}

func (w *waitingMatches) dropProfile(name string) {
	w.removeJobs(func(j *job) bool { return j.match.Profile == name })
}

// removeUnaccepted removes and returns the matches of a profile, except those that all players have accepted.
func (w *waitingMatches) removeUnaccepted(profile string) []*job {
	return w.removeJobs(func(j *job) bool { return j.match.Profile == profile && !j.match.Accepted })
}
