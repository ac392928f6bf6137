package decide

import (
	"maps"
	"slices"
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
	Roster
	parties []*candidate
	players int
}

// seat is where a player of an open match sits.
type seat struct{ team, role int }

func newRoster(r Roster, pl *plan, regions *regionSet) *roster {
	added := &roster{Roster: r}
	tickets := map[string]*match.Ticket{}
	seats := map[string]seat{}
	for team := range r.Teams {
		for i := range r.Teams[team] {
			p := &r.Teams[team][i]
			id := p.Ticket
			if id == "" {
				id = p.Sub
			}
			if tickets[id] == nil {
				tickets[id] = &match.Ticket{ID: id}
			}
			tickets[id].Players = append(tickets[id].Players, match.Player{Sub: p.Sub, Attributes: p.Attributes})
			seats[p.Sub] = seat{team, pl.roleOrNone(p.Role)}
			added.players++
		}
	}
	for _, id := range slices.Sorted(maps.Keys(tickets)) {
		added.parties = append(added.parties, pl.seated(tickets[id], seats, regions))
	}
	return added
}

func (pl *plan) roleOrNone(name string) int {
	if role := pl.role(name); role >= 0 {
		return role
	}
	return noRole
}

// seated makes a candidate of a party that plays already.
func (pl *plan) seated(t *match.Ticket, seats map[string]seat, regions *regionSet) *candidate {
	c := pl.normalise(t, regions)
	c.seated, c.modes = true, ^uint8(0)
	for i := range t.Players {
		c.seats = append(c.seats, seats[t.Players[i].Sub])
	}
	return c
}

// seat adds a newcomer to the open match where the line-up has it.
func (r *roster) seat(c *candidate, l *lineup) {
	joined := *c
	joined.seated, joined.modes, joined.seats = true, ^uint8(0), nil
	from, to := l.playersOf(slices.Index(l.picks, c))
	for p := from; p < to; p++ {
		joined.seats = append(joined.seats, seat{l.team[p], l.role[p]})
	}
	r.parties = append(r.parties, &joined)
	r.players += c.size
}
