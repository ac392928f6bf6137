package loop

import (
	"time"

	"github.com/lattice-director/director/db"
)

// noPause is the pause after which tickets are candidates again at once.
const noPause time.Duration = 0

// hold keeps tickets of a profile from being candidates until a moment, by this machine's clock.
type hold struct {
	heldUntil time.Time
	profile   string
	tickets   []string
}

type holds []hold

// withoutProfile returns the holds of other profiles.
func (h holds) withoutProfile(name string) (rest holds) {
	for _, hold := range h {
		if hold.profile != name {
			rest = append(rest, hold)
		}
	}
	return rest
}

// dropMatch counts a match that could not be committed, and gives its tickets back.
func (l *Loop) dropMatch(j *job, pause time.Duration, why string) {
	l.metrics.droppedMatches.WithLabelValues(why).Inc()
	l.giveBack(j, pause)
}

// giveBack makes the tickets of a match that is not committed candidates again, at their place, after a pause.
func (l *Loop) giveBack(j *job, pause time.Duration) {
	// Tickets that a cycle has marked are pending in the database: no profile on any worker may take them before their
	// marks are removed there.
	if m := j.markedTickets(); m != nil {
		l.freeLater(*m, pause)
		return
	}
	// Tickets of an accepted match leave it when its time is over, which the database judges.
	if j.match.Accepted {
		return
	}
	// Where this worker has lost the profile, the engine of its owner has the tickets.
	if p := l.profiles[j.match.Profile]; p != nil {
		l.putBack(p, j.ticketIDs(), nil, pause)
	}
}

// putBack makes tickets candidates again, after a pause. marked are the tickets if a cycle has marked them, else nil.
func (l *Loop) putBack(p *ownedProfile, tickets []string, marked *db.MarkedTickets, pause time.Duration) {
	switch {
	case marked != nil:
		l.freeLater(*marked, pause)
	case pause > 0:
		l.holds = append(l.holds, hold{time.Now().Add(pause), p.name, tickets})
	default:
		l.returnTickets(p, tickets)
	}
}

// returnTickets makes tickets of a dropped match candidates of a profile again, at their place. An engine that began
// while they were taken gets them as new ones.
func (l *Loop) returnTickets(p *ownedProfile, tickets []string) {
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
		if now.Before(h.heldUntil) {
			rest = append(rest, h)
			continue
		}
		if p := l.profiles[h.profile]; p != nil {
			l.returnTickets(p, h.tickets)
		}
	}
	l.holds = rest
}
