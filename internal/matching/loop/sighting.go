package loop

import (
	"time"

	"github.com/lattice-director/director/db"
)

const (
	// sightAfter is how long a ticket waits before it is recorded when it was first seen: most are matched before.
	sightAfter = 5 * time.Second
	// sightAtOnce bounds the waiting tickets that are recorded in a second.
	sightAtOnce = 5000
)

// unrecorded is a ticket of which the database does not say when a worker first saw it.
type unrecorded struct {
	id   string
	seen time.Time
}

// announceLeft announces that a ticket has left the queue, as far as is known without a match. The caller removes it.
func (q *queue) announceLeft(id string) {
	if e := q.entries[id]; e != nil {
		q.to.ticketLeft(e)
	}
}

// ticketLeft implements listener: a replay needs to know until when this worker had the ticket as a candidate.
func (l *Loop) ticketLeft(e *entry) {
	if !l.NoHistory && l.decidesAbout(e) {
		l.historian.sight(db.Sighting{Ticket: e.id, SeenAt: e.seen, LeftSeenAt: l.now})
	}
}

// sightWaiting records when the tickets were first seen that have waited for some seconds. They enter the history only when they leave,
// and have a part in searches meanwhile.
func (l *Loop) sightWaiting() {
	var sightings []db.Sighting
	before, q := l.now.Add(-sightAfter), l.queue
	for len(q.unrecorded) > 0 && len(sightings) < sightAtOnce && q.unrecorded[0].seen.Before(before) {
		first := q.unrecorded[0]
		q.unrecorded = q.unrecorded[1:]
		if e := q.entries[first.id]; e != nil && e.seen.Equal(first.seen) && !l.NoHistory && l.decidesAbout(e) {
			sightings = append(sightings, db.Sighting{Ticket: e.id, SeenAt: e.seen})
		}
	}
	l.historian.sight(sightings...)
}

// decidesAbout reports whether a profile of this worker may take the ticket.
func (l *Loop) decidesAbout(e *entry) bool {
	for range l.takers(e) {
		return true
	}
	return false
}
