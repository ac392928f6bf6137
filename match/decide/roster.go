package decide

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/match"
)

// Roster is an open match that newcomers may join.
type Roster struct {
	Session, MatchID string
	Region, Mode     string
	Opened           time.Time
	// Teams are in the profile's order, one for each of its teams.
	Teams [][]RosterPlayer
}

// RosterPlayer is a player of an open match, whose seat is taken.
type RosterPlayer struct {
	Ticket, Sub string // players with the same ticket are a party; without one each is its own
	Role        string // empty: none
	Attributes  match.Attributes
}

// roster is an open match as the search sees it: its parties are candidates that have their seats already.
type roster struct {
	openMatch     Roster
	seatedParties []*candidate
	playerCount   int
}

// newRoster makes candidates of the parties of an open match, so that rules judge them together with newcomers.
func newRoster(r Roster, pl *plan, regions *regionSet) *roster {
	added := &roster{openMatch: r}
	tickets := map[string]*match.Ticket{}
	seats := map[string]seat{}
	for team := range r.Teams {
		for i := range r.Teams[team] {
			p := &r.Teams[team][i]
			id := p.Ticket
			// A player without a ticket is a party of its own, named after it.
			if id == "" {
				id = p.Sub
			}
			if tickets[id] == nil {
				tickets[id] = &match.Ticket{ID: id}
			}
			tickets[id].Players = append(tickets[id].Players, match.Player{Sub: p.Sub, Attributes: p.Attributes})
			seats[p.Sub] = seat{team, pl.roleOrNone(p.Role)}
			added.playerCount++
		}
	}
	// Sorted: the order of a map is random, and decisions must not depend on it.
	for _, id := range slices.Sorted(maps.Keys(tickets)) {
		added.seatedParties = append(added.seatedParties, pl.newSeatedParty(tickets[id], seats, regions))
	}
	return added
}

func (pl *plan) roleOrNone(name string) int {
	if role := pl.roleNumber(name); role >= 0 {
		return role
	}
	return noRole
}

// newSeatedParty makes a candidate of a party that plays already.
func (pl *plan) newSeatedParty(t *match.Ticket, seats map[string]seat, regions *regionSet) *candidate {
	c := pl.newCandidate(t, regions)
	// The match has its mode already: players who are in it exclude none.
	c.isSeated, c.allowedModes = true, ^uint8(0)
	for i := range t.Players {
		c.takenSeats = append(c.takenSeats, seats[t.Players[i].Sub])
	}
	return c
}

// seatNewcomer adds a newcomer to the open match where the line-up has it.
func (r *roster) seatNewcomer(c *candidate, l *lineup) {
	joined := *c // a copy: the candidate itself may return, if the proposal is dropped
	joined.isSeated, joined.allowedModes, joined.takenSeats = true, ^uint8(0), nil
	from, to := l.playersOf(slices.Index(l.picks, c))
	for p := from; p < to; p++ {
		joined.takenSeats = append(joined.takenSeats, seat{l.teamByPlayer[p], l.roleByPlayer[p]})
	}
	r.seatedParties = append(r.seatedParties, &joined)
	r.playerCount += c.playerCount
}

// compareOpened orders open matches, that which was opened first first.
func (r *roster) compareOpened(o *roster) int {
	return cmp.Or(r.openMatch.Opened.Compare(o.openMatch.Opened),
		strings.Compare(r.openMatch.Session, o.openMatch.Session))
}
