package loop

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
)

// waiting are the matches that found no server, by the age of their oldest tickets. Their tickets keep their place in the queue and
// are no candidates meanwhile.
type waiting struct {
	jobs   []*job
	of     map[string]*job // by ticket
	shown  map[string]bool // tickets whose players see that they wait for a server
	demand []db.Demand
}

const (
	// decideAnew is for how long a decided match waits for a server: then its tickets are decided about anew.
	decideAnew = 30 * time.Second
	// maxWaiting bounds the matches of this worker that wait; beyond it the newest are decided anew.
	maxWaiting = 10_000
)

func (w *waiting) add(j *job) {
	at, _ := slices.BinarySearchFunc(w.jobs, j, func(a, b *job) int {
		return cmp.Or(a.oldest.Compare(b.oldest), slices.Compare(a.match.ID[:], b.match.ID[:]))
	})
	w.jobs = slices.Insert(w.jobs, at, j)
	if w.of == nil {
		w.of = map[string]*job{}
	}
	for _, id := range j.tickets() {
		w.of[id] = j
	}
}

// drop drops the match that needs a ticket which is no candidate any more; its other tickets are decided about anew.
func (w *waiting) drop(l *Loop, ticket string) {
	if j := w.of[ticket]; j != nil {
		w.forget(j)
		w.jobs = slices.DeleteFunc(w.jobs, func(o *job) bool { return o == j })
		l.giveBack(j, 0, "")
	}
}

// forget takes the tickets of a match that no longer waits out of the index.
func (w *waiting) forget(j *job) {
	for _, id := range j.tickets() {
		delete(w.of, id)
	}
}

func (w *waiting) dropProfile(name string) {
	w.jobs = slices.DeleteFunc(w.jobs, func(j *job) bool {
		if j.match.Profile == name {
			w.forget(j)
		}
		return j.match.Profile == name
	})
}

// serveWaiting commits matches for which there may be a server now, oldest first, and records what the others wait for.
func (l *Loop) serveWaiting(ctx context.Context) error {
	room := l.hosts.budget()
	var rest []*job
	for n, j := range l.waiting.jobs {
		switch {
		case !j.match.Accepted && (time.Since(j.decided) > decideAnew || n >= maxWaiting):
			l.waiting.forget(j)
			l.giveBack(j, 0, "")
		case room.take(j):
			l.waiting.forget(j)
			l.commits.add(j)
		default:
			rest = append(rest, j)
		}
	}
	l.waiting.jobs = rest
	if err := l.show(ctx); err != nil {
		return err
	}
	return l.putDemand(ctx)
}

// show lets players see that their match waits for a server, or that they are back in the queue: a statement for each.
func (l *Loop) show(ctx context.Context) error {
	w := &l.waiting
	var begin, end []string
	for id := range w.of {
		if !w.shown[id] {
			begin = append(begin, id)
		}
	}
	for id := range w.shown {
		if w.of[id] == nil {
			end = append(end, id)
		}
	}
	if len(begin)+len(end) == 0 {
		return nil
	}
	if err := l.Store.MoveTickets(ctx, l.Universe, db.TicketWaitingForServer, begin, ""); err != nil {
		return err
	}
	committing := ticketsOf(l.commits.jobs())
	back := slices.DeleteFunc(slices.Clone(end), func(id string) bool { return l.queue.entries[id] == nil || committing[id] })
	if err := l.Store.MoveTickets(ctx, l.Universe, db.TicketQueued, back, ""); err != nil {
		return err
	}
	w.shown = make(map[string]bool, len(w.of))
	for id := range w.of {
		w.shown[id] = true
	}
	return nil
}

// budget is the room that waiting matches may be sent to, so that no more are sent than may fit.
type budget map[string]map[string]int

func (h hosts) budget() budget {
	b := budget{}
	for region, modes := range h.free {
		b[region] = maps.Clone(modes)
	}
	return b
}

// take finds the best game region that may have a server for a match, and makes it the next that is tried. The instance with
// most free seats stands for all of them, so at least one match is sent wherever there is room, and more follow at the next look.
func (b budget) take(j *job) bool {
	for i, region := range j.match.Regions {
		for _, mode := range j.match.Modes {
			if b[region][mode] >= j.match.Size {
				j.region = i
				return true
			}
		}
	}
	return false
}

// putDemand records what matches wait for, once a second while it changes.
func (l *Loop) putDemand(ctx context.Context) error {
	now := l.wanted()
	if slices.Equal(now, l.waiting.demand) || len(l.profiles) == 0 {
		return nil
	}
	if err := l.Store.PutDemand(ctx, slices.Sorted(maps.Keys(l.profiles)), now); err != nil {
		return err
	}
	l.waiting.demand = now
	return nil
}

// wanted sums up the matches that wait, by game region, mode and shape: each at its best region, in its first mode.
func (l *Loop) wanted() []db.Demand {
	sums := map[string]*db.Demand{}
	for _, j := range l.waiting.jobs {
		if len(j.match.Regions) == 0 || len(j.match.Modes) == 0 {
			continue
		}
		d := db.Demand{Region: j.match.Regions[0], Mode: j.match.Modes[0], Key: fmt.Sprintf("%s/%d", j.match.Profile, j.match.Size)}
		key := d.Region + "\x00" + d.Mode + "\x00" + d.Key
		if sums[key] == nil {
			d.Waits = time.Since(j.decided).Truncate(time.Second)
			sums[key] = &d
		}
		sums[key].Matches++
		sums[key].Players += j.players()
	}
	var all []db.Demand
	for _, key := range slices.Sorted(maps.Keys(sums)) {
		all = append(all, *sums[key])
	}
	return all
}
