package loop

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// oldestWaiting returns how long the oldest ticket of a match that waits for a server has waited; 0 without one.
func (l *Loop) oldestWaiting() time.Duration {
	if len(l.waiting.jobs) == 0 {
		return 0
	}
	return max(0, l.options.Store.Now().Sub(l.waiting.jobs[0].oldestCreated))
}

// serveWaiting queues the matches for which there may be a server now for their commit, oldest first, gives up those
// that have waited too long, and records what the others wait for.
func (l *Loop) serveWaiting(ctx context.Context) error {
	room := maps.Clone(l.hosts.freeSeats)
	var rest []*job
	for position, j := range l.waiting.jobs {
		switch {
		// An accepted match has no limit: its players have agreed to it, and its ready check keeps their tickets.
		case !j.match.Accepted && (time.Since(j.decidedAt) > j.maxWait || position >= maxWaiting):
			l.waiting.forgetTickets(j)
			l.giveBack(j, noPause)
		// The profile has as many open checks as it may have: one of them has to end first.
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

// showWaiting lets players see that their match waits for a server, or that they are back in the queue, in one statement
// for each of the two.
func (l *Loop) showWaiting(ctx context.Context) error {
	w := &l.waiting
	begin, end := w.unshownChanges()
	if len(begin)+len(end) == 0 {
		return nil
	}
	if err := l.setTicketState(ctx, db.TicketWaitingForServer, begin); err != nil {
		return err
	}
	// A ticket whose match is being committed stays shown as waiting: it is assigned in a moment, or waits again.
	committing := ticketsOf(l.commits.allJobs())
	end = slices.DeleteFunc(end, func(id string) bool { return committing[id] })
	back := slices.DeleteFunc(slices.Clone(end), func(id string) bool { return l.queue.entryByID[id] == nil })
	if err := l.setTicketState(ctx, db.TicketQueued, back); err != nil {
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

// setTicketState lets players see tickets in a state.
func (l *Loop) setTicketState(ctx context.Context, to db.TicketState, ids []string) error {
	return callDatabase(ctx, "recording which tickets wait for a server", func(ctx context.Context) error {
		return l.options.Store.SetTicketState(ctx, l.options.Universe, to, ids, "")
	})
}

// putDemand records what matches wait for, if that has changed.
func (l *Loop) putDemand(ctx context.Context) error {
	demand := l.sumDemand()
	if slices.Equal(demand, l.waiting.storedDemand) && !l.waiting.isDemandStale {
		return nil
	}
	err := callDatabase(ctx, "recording demand", func(ctx context.Context) error {
		return l.options.Store.PutDemand(ctx, l.options.Universe, slices.Sorted(maps.Keys(l.profiles)), demand)
	})
	if err != nil {
		return err
	}
	l.waiting.storedDemand, l.waiting.isDemandStale = demand, false
	return nil
}

// sumDemand sums the matches that wait, by game region, mode and shape: each counts at its best region, in its first
// mode. The sums include matches that are being committed: their commit subtracts them from demand.
func (l *Loop) sumDemand() []db.Demand {
	sums := map[string]*db.Demand{}
	for _, j := range l.allJobs() {
		region, row := j.demandRow(l.options.Universe)
		// A match that has not waited yet may be committed at once: its demand would start a server that nobody needs.
		if !j.waitedForServer || row == (db.DemandKey{}) {
			continue
		}
		d := db.Demand{Region: region, Mode: row.Mode, Key: row.Key}
		key := d.Region + "\x00" + d.Mode + "\x00" + d.Key // no name has a NUL
		if sums[key] == nil {
			// In whole seconds, since demand is written whenever this value changes.
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
