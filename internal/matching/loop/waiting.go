package loop

import (
	"cmp"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// waiting are the matches that found no server, by the age of their oldest tickets. Their tickets keep their place in
// the queue and are no candidates meanwhile.
type waiting struct {
	jobs          []*job
	jobByTicket   map[string]*job
	shownTickets  map[string]bool // tickets whose players see that they wait for a server
	storedDemand  []db.Demand     // as the database has it
	isDemandStale bool            // the database may have demand of former owners
}

const (
	// waitAtMost is how long a decided match waits for a server. Then its tickets are candidates again.
	waitAtMost = 30 * time.Second
	// maxWaiting bounds the matches of this worker that wait; beyond it the newest are decided anew.
	maxWaiting = 10_000
)

func (w *waiting) addJob(j *job) {
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

// unshownChanges returns the tickets that began to wait for a server, and those that stopped, since players last saw
// it.
func (w *waiting) unshownChanges() (begin, end []string) {
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

// removeJobOf removes and returns the match that needs a ticket; nil: none does.
func (w *waiting) removeJobOf(ticket string) *job {
	needsIt := w.jobByTicket[ticket]
	if needsIt == nil {
		return nil
	}
	w.removeJobs(func(j *job) bool { return j == needsIt })
	return needsIt
}

// forgetTickets takes the tickets of a match that no longer waits out of the index.
func (w *waiting) forgetTickets(j *job) {
	for _, id := range j.ticketIDs() {
		delete(w.jobByTicket, id)
	}
}

// removeJobs removes and returns the matches of which isRemoved is true, the oldest first.
func (w *waiting) removeJobs(isRemoved func(*job) bool) (removed []*job) {
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

func (w *waiting) dropProfile(name string) {
	w.removeJobs(func(j *job) bool { return j.match.Profile == name })
}

// removeUnaccepted removes and returns the matches of a profile, except those that all players have accepted.
func (w *waiting) removeUnaccepted(profile string) []*job {
	return w.removeJobs(func(j *job) bool { return j.match.Profile == profile && !j.match.Accepted })
}
