package loop

import (
	"time"

	"github.com/lattice-director/director/db"
)

const (
	// sightAfter is how long a ticket waits before the moment at which it was first seen is recorded: most tickets are
	// matched before.
	sightAfter = 5 * time.Second
	// sightAtOnce bounds the waiting tickets that one call of sightWaiting records.
	sightAtOnce = 5000
)

// ticketLeft implements listener. It records until when this worker had the ticket as a candidate, for replays.
func (l *Loop) ticketLeft(e *entry) {
	if !l.options.NoHistory && l.decidesAbout(e) {
		l.historian.keepSightings(db.Sighting{TicketID: e.id, SeenAt: e.seenAt, LeftSeenAt: l.lastMoment})
	}
}

// sightWaiting records when the tickets that have waited for some seconds were first seen. They enter the history only
// when they leave, and a replay needs them before.
func (l *Loop) sightWaiting() {
	var sightings []db.Sighting
	before, q := l.lastMoment.Add(-sightAfter), l.queue
	for len(q.unrecorded) > 0 && len(sightings) < sightAtOnce && q.unrecorded[0].seenAt.Before(before) {
		first := q.unrecorded[0]
		q.unrecorded = q.unrecorded[1:]
		// A ticket with another time left memory and came back: a later item of the list stands for it.
		if e := q.entryByID[first.id]; e != nil && e.seenAt.Equal(first.seenAt) && !l.options.NoHistory &&
			l.decidesAbout(e) {
			sightings = append(sightings, db.Sighting{TicketID: e.id, SeenAt: e.seenAt})
		}
	}
	l.historian.keepSightings(sightings...)
}

// decidesAbout reports whether a profile of this worker may take the ticket.
func (l *Loop) decidesAbout(e *entry) bool {
	for range l.profilesTaking(e) {
		return true
	}
	return false
}
