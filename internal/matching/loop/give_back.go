package loop

import (
	"time"

	"github.com/lattice-director/director/db"
)

// hold keeps tickets of a profile from being candidates until a moment.
type hold struct {
	heldUntil time.Time
	profile   string
	tickets   []string
}

type holds []hold

func (h holds) withoutProfile(name string) (rest holds) {
	for _, hold := range h {
		if hold.profile != name {
			rest = append(rest, hold)
		}
	}
	return rest
}

// dropMatch counts a match that could not be committed, and gives its tickets back.
func (l *Loop) dropMatch(j *job, after time.Duration, why string) {
	l.metrics.droppedMatches.WithLabelValues(why).Inc()
	l.giveBack(j, after)
}

// giveBack makes the tickets of a match that is not committed candidates again, at their place, after a pause.
func (l *Loop) giveBack(j *job, after time.Duration) {
	// Tickets that a cycle has marked are pending in the database: no profile on any worker may take them before their
	// marks are removed there.
	if m := j.markedTickets(); m != nil {
		l.freeTickets(*m, after)
		return
	}
	// If another worker owns the profile by now, its engine has the tickets.
	p := l.profiles[j.match.Profile]
	if p == nil || j.match.Accepted {
		return // tickets of an accepted match leave it when its time is over, which the database judges
	}
	l.putBack(p, j.ticketIDs(), nil, after)
}

// putBack makes tickets candidates again, after a pause. marked are the tickets if a cycle has marked them, else nil.
func (l *Loop) putBack(p *owned, tickets []string, marked *db.MarkedTickets, after time.Duration) {
	switch {
	case marked != nil:
		l.freeTickets(*marked, after)
	case after > 0:
		l.returnAfter(after, p.name, tickets)
	default:
		l.returnTickets(p, tickets)
	}
}

// returnAfter makes tickets candidates of a profile again after a while.
func (l *Loop) returnAfter(d time.Duration, name string, tickets []string) {
	l.holds = append(l.holds, hold{time.Now().Add(d), name, tickets})
}

// returnTickets makes tickets of a dropped match candidates of a profile again, at their place. An engine that began
// while they were taken does not have them.
func (l *Loop) returnTickets(p *owned, tickets []string) {
	c := change{moment: l.currentMoment(), kind: candidatesReturned, ticketIDs: tickets}
	for _, id := range tickets {
		if e := l.queue.entryByID[id]; e != nil && e.isPlayable() && e.isFree(c.moment) {
			c.entries = append(c.entries, e)
		}
	}
	l.passChange(p, c)
}

// releaseHolds returns the tickets that were held for long enough.
func (l *Loop) releaseHolds() {
	now := time.Now()
	var rest holds
	for _, h := range l.holds {
		switch p := l.profiles[h.profile]; {
		case now.Before(h.heldUntil):
			rest = append(rest, h)
		case p != nil:
			l.returnTickets(p, h.tickets)
		}
	}
	l.holds = rest
}
