package loop

import (
	"fmt"
	"time"

	"github.com/lattice-director/director/db"
)

// job is a decided match on its way into the database.
type job struct {
	match           db.NewMatch
	owner           db.MatchOwner
	answerWithin    time.Duration // how long the players of its ready check have to answer
	anchorTicket    string        // the ticket that the search began with
	asksPlayers     bool          // it is sent to ask its players, not to commit it
	oldestCreated   time.Time     // creation of the oldest ticket
	regionIndex     int           // index in match.Regions of the game region that is tried
	decidedAt       time.Time     // by this machine's clock
	maxWait         time.Duration // how long it waits for a server; an accepted match waits without limit
	waitedForServer bool          // it counts in demand
	nearestRegion   string        // the region that is best for its players; "": they measured none in common
	waiters         []waiter      // as match.Tickets
}

// waiter holds the values from which a waiting time is computed: a ticket may leave the queue before its match is known
// to be committed.
type waiter struct {
	createdAt time.Time // zero: not known
	// pivotNumber is the number by which estimates divide tickets into groups: [match.Ticket.Mean] of the profile's
	// pivot.
	pivotNumber float64
}

func (j *job) playerCount() int {
	n := 0
	for _, t := range j.match.Tickets {
		n += len(t.Players)
	}
	return n
}

// markedTickets returns the match's tickets with their mark if a cycle has marked them, else nil.
func (j *job) markedTickets() *db.MarkedTickets {
	if j.match.Mark == nil {
		return nil
	}
	return &db.MarkedTickets{TicketIDs: j.ticketIDs(), MatchMark: j.match.Mark}
}

func (j *job) ticketIDs() []string {
	ids := make([]string, len(j.match.Tickets))
	for i, t := range j.match.Tickets {
		ids[i] = t.ID
	}
	return ids
}

// gameRegion returns the game region that is tried next; "" for a match without seats.
func (j *job) gameRegion() string {
	if len(j.match.Regions) == 0 {
		return ""
	}
	return j.match.Regions[j.regionIndex]
}

// demandRow returns the region and the key of the demand row that counts the match; zero for a match without a session.
// While the match has no game region, that is the region nearest to the players, "" where they measured none.
func (j *job) demandRow(universe string) (region string, key db.DemandKey) {
	if len(j.match.Modes) == 0 {
		return "", key
	}
	region = j.nearestRegion
	if len(j.match.Regions) > 0 {
		region = j.match.Regions[0]
	}
	return region, db.DemandKey{Mode: j.match.Modes[0],
		Key: fmt.Sprintf("%s/%d/%s", j.match.Profile, j.match.Size, universe)}
}

// ticketsOf returns the set of the tickets of matches.
func ticketsOf(jobs []*job) map[string]bool {
	all := map[string]bool{}
	for _, j := range jobs {
		for _, t := range j.match.Tickets {
			all[t.ID] = true
		}
	}
	return all
}
