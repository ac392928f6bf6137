package loop

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// waiting are the matches that found no server, by the age of their oldest tickets. Their tickets keep their place in
// the queue and are no candidates meanwhile.
type waiting struct {
	jobs          []*job
	jobByTicket   map[string]*job // by ticket
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

// dropTicket drops the match that needs a ticket which is no candidate any more; its other tickets are decided about anew.
func (w *waiting) dropTicket(l *Loop, ticket string) {
	if j := w.jobByTicket[ticket]; j != nil {
		w.forgetTickets(j)
		w.jobs = slices.DeleteFunc(w.jobs, func(o *job) bool { return o == j })
		l.giveBack(j, 0, "")
	}
}

// oldestWaiting returns how long the oldest ticket of a match that waits for a server has waited; 0 without one.
func (l *Loop) oldestWaiting() time.Duration {
	if len(l.waiting.jobs) == 0 {
		return 0
	}
	return max(0, l.options.Store.Now().Sub(l.waiting.jobs[0].oldestCreated))
}

// forgetTickets takes the tickets of a match that no longer waits out of the index.
func (w *waiting) forgetTickets(j *job) {
	for _, id := range j.ticketIDs() {
		delete(w.jobByTicket, id)
	}
}

func (w *waiting) dropProfile(name string) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
		if j.match.Profile == name {
			w.forgetTickets(j)
		}
		return j.match.Profile == name
	})
}

// decideAgain drops the matches of a profile, except accepted ones, so that their tickets are candidates again.
func (w *waiting) decideAgain(l *Loop, profile string) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
		anew := j.match.Profile == profile && !j.match.Accepted
		if anew {
			w.forgetTickets(j)
			l.giveBack(j, 0, "")
		}
		return anew
	})
}

// serveWaiting commits matches for which there may be a server now, oldest first, and records what the others wait for.
func (l *Loop) serveWaiting(ctx context.Context) error {
	room := maps.Clone(l.hosts.freeSeats)
	var rest []*job
	for n, j := range l.waiting.jobs {
		switch {
		case !j.match.Accepted && (time.Since(j.decidedAt) > j.maxWait || n >= maxWaiting):
			l.waiting.forgetTickets(j)
			l.giveBack(j, 0, "")
		case j.asksPlayers && !l.mayAsk(l.profiles[j.match.Profile]):
			rest = append(rest, j)
		case room.takeSeats(l.hosts, j):
			l.waiting.forgetTickets(j)
			l.commits.addJob(j)
		default:
			rest = append(rest, j)
		}
	}
	l.waiting.jobs = rest
	if err := l.showWaiting(ctx); err != nil {
		return err
	}
	return l.putDemand(ctx)
}

// showWaiting lets players see that their match waits for a server, or that they are back in the queue: a statement for each.
func (l *Loop) showWaiting(ctx context.Context) error {
	w := &l.waiting
	var begin, end []string
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
	if len(begin)+len(end) == 0 {
		return nil
	}
	if err := l.moveTickets(ctx, db.TicketWaitingForServer, begin); err != nil {
		return err
	}
	// A ticket whose match is being committed is shown as it was: it is either assigned in a moment, or waits again.
	committing := ticketsOf(l.commits.allJobs())
	end = slices.DeleteFunc(end, func(id string) bool { return committing[id] })
	back := slices.DeleteFunc(slices.Clone(end), func(id string) bool { return l.queue.entryByID[id] == nil })
	if err := l.moveTickets(ctx, db.TicketQueued, back); err != nil {
		return err
	}
	if w.shownTickets == nil {
		w.shownTickets = map[string]bool{}
	}
	for _, id := range begin {
		w.shownTickets[id] = true
	}
	for _, id := range end {
		delete(w.shownTickets, id)
	}
	return nil
}

func (l *Loop) moveTickets(ctx context.Context, to db.TicketState, ids []string) error {
	return callDatabase(ctx, "recording which tickets wait for a server", func(ctx context.Context) error {
		return l.options.Store.MoveTickets(ctx, l.options.Universe, to, ids, "")
	})
}

// budget is how many seats waiting matches may still take, so that hardly more are sent than fit: thousands that do not
// would lock their tickets in vain, and stop all other decisions meanwhile.
type budget map[place]int

// place is a mode in a game region.
type place struct{ region, mode string }

// takeSeats finds the best game region that may have a server for a match, makes it the next that is tried, and subtracts
// the match's seats from the budget.
func (b budget) takeSeats(h hosts, j *job) bool {
	for i, region := range j.match.Regions {
		for _, mode := range j.match.Modes {
			at := place{region, mode}
			if h.largestFree[region][mode] >= j.match.Size && b[at] >= j.match.Size {
				b[at] -= j.match.Size
				j.regionIndex = i
				return true
			}
		}
	}
	return false
}

// putDemand records what matches wait for, once a second while it changes.
func (l *Loop) putDemand(ctx context.Context) error {
	now := l.sumDemand()
	if slices.Equal(now, l.waiting.storedDemand) && !l.waiting.isDemandStale {
		return nil
	}
	err := callDatabase(ctx, "recording demand", func(ctx context.Context) error {
		return l.options.Store.PutDemand(ctx, l.options.Universe, slices.Sorted(maps.Keys(l.profiles)), now)
	})
	if err != nil {
		return err
	}
	l.waiting.storedDemand, l.waiting.isDemandStale = now, false
	return nil
}

// sumDemand sums the matches that wait, by game region, mode and shape: each counts at its best region, in its first
// mode. It includes matches that are being committed: their commit subtracts them from demand.
func (l *Loop) sumDemand() []db.Demand {
	sums := map[string]*db.Demand{}
	for _, j := range append(l.commits.allJobs(), l.waiting.jobs...) {
		region, row := j.demandRow(l.options.Universe)
		if !j.waitedForServer || row == (db.DemandKey{}) {
			continue
		}
		d := db.Demand{Region: region, Mode: row.Mode, Key: row.Key}
		key := d.Region + "\x00" + d.Mode + "\x00" + d.Key
		if sums[key] == nil {
			d.LongestWait = time.Since(j.decidedAt).Truncate(time.Second)
			sums[key] = &d
		}
		sums[key].MatchCount++
		sums[key].PlayerCount += j.playerCount()
	}
	var all []db.Demand
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, *sums[key])
	}
	return all
}
