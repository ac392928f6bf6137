package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Feasible reports whether some of the tickets make a valid match in one of the regions; nil: in any region.
func Feasible(p *profile.Profile, tickets []match.Ticket, regions []string, now time.Time) bool {
	_, ok := Find(p, tickets, regions, now)
	return ok
}

// Find returns the first new match of some of the tickets that it comes to, in one of the regions; nil: in any region,
// which then stays open. Its time is exponential in the number of tickets, so it is for 8 at most.
func Find(p *profile.Profile, tickets []match.Ticket, regions []string, now time.Time) (Match, bool) {
	return FindWith(p, "", tickets, regions, now)
}

// FindWith returns the first new match that contains a ticket, as [Find] does; "": any match.
func FindWith(p *profile.Profile, id string, tickets []match.Ticket, regions []string, now time.Time) (Match, bool) {
	f := finder{p: p, now: now, regions: regions, with: id}
	for _, t := range tickets {
		if len(Candidate(p, t)) == 0 {
			f.tickets = append(f.tickets, t)
		}
	}
	if regions == nil {
		f.regions = []string{""}
	}
	if id != "" && !slices.ContainsFunc(f.tickets, func(t match.Ticket) bool { return t.ID == id }) {
		return Match{}, false
	}
	ok := f.from(0)
	return f.match, ok
}

// finder is a search with the match that it has so far.
type finder struct {
	p       *profile.Profile
	now     time.Time
	regions []string
	with    string
	tickets []match.Ticket
	match   Match
}

// from tries the match with and without each of the tickets from the i-th on.
func (f *finder) from(i int) bool {
	if i == len(f.tickets) {
		return f.sized() && f.fill(f.slots())
	}
	f.match.Tickets = append(f.match.Tickets, f.tickets[i])
	if f.seat(i, 0) {
		return true
	}
	f.match.Tickets = f.match.Tickets[:len(f.match.Tickets)-1]
	// Without the ticket, unless it is the one that has to be in the match.
	return f.tickets[i].ID != f.with && f.from(i+1)
}

// seat tries each team for the players of the i-th ticket from the j-th on.
func (f *finder) seat(i, j int) bool {
	t := f.tickets[i]
	if j == len(t.Players) {
		return f.from(i + 1)
	}
	for _, team := range f.p.Teams {
		if f.count(team.Name) == team.Max || j > 0 && !f.together(team) {
			continue
		}
		f.match.Seats = append(f.match.Seats, Seat{Ticket: t.ID, Sub: t.Players[j].Sub, Team: team.Name})
		if f.seat(i, j+1) {
			return true
		}
		f.match.Seats = f.match.Seats[:len(f.match.Seats)-1]
	}
	return false
}

// together reports whether the last player's party may continue in the team.
func (f *finder) together(team profile.Team) bool {
	last := f.match.Seats[len(f.match.Seats)-1].Team
	split := slices.ContainsFunc(f.p.Teams, func(t profile.Team) bool { return t.Name == last && t.AllowSplit })
	return last == team.Name || split && team.AllowSplit
}

func (f *finder) count(team string) (n int) {
	for _, s := range f.match.Seats {
		if s.Team == team {
			n++
		}
	}
	return n
}

func (f *finder) sized() bool {
	return len(f.match.Tickets) > 0 && len(newGame(f.p, f.match, f.now).teams()) == 0
}

// slot is a role that a player of a team has to have or, while more may have it, can have.
type slot struct {
	team, role   string
	must         bool
	previousSeat int // the seat of the slot before, if that is of the same role: seats are tried in one order only
}

// slots returns the roles to fill. Optional ones matter only to rules about the players in a role.
func (f *finder) slots() (slots []slot) {
	optional := slices.ContainsFunc(f.p.Rules, aboutRole)
	for _, t := range f.p.Teams {
		for _, role := range t.Roles {
			for i := range role.Max {
				if i < role.Min || optional && i < f.count(t.Name) {
					slots = append(slots, slot{team: t.Name, role: role.Name, must: i < role.Min, previousSeat: -1})
				}
			}
		}
	}
	return slots
}

func aboutRole(r profile.Rule) bool {
	return r.Role != "" || r.Rates() || slices.ContainsFunc(r.Rules, aboutRole)
}

// fill tries each player for the first of the slots, then for the others.
func (f *finder) fill(slots []slot) bool {
	if len(slots) == 0 {
		return f.valid()
	}
	s, rest := slots[0], slices.Clone(slots[1:])
	for i := s.previousSeat + 1; i < len(f.match.Seats); i++ {
		if seat := &f.match.Seats[i]; seat.Team == s.team && seat.Role == "" && f.takes(*seat, s.role) {
			if len(rest) > 0 && rest[0].team == s.team && rest[0].role == s.role {
				rest[0].previousSeat = i
			}
			seat.Role = s.role
			if f.fill(rest) {
				return true
			}
			seat.Role = ""
		}
	}
	// Optional places of a role are alike: if one stays empty, those after it need not be tried.
	return !s.must && f.fill(withoutRole(slots[1:], s))
}

// withoutRole returns the slots without further optional ones of the same role.
func withoutRole(slots []slot, of slot) []slot {
	return slices.DeleteFunc(slices.Clone(slots), func(s slot) bool { return s.team == of.team && s.role == of.role })
}

func (f *finder) takes(s Seat, role string) bool {
	g := newGame(f.p, f.match, f.now)
	for _, m := range g.members {
		if m.Sub == s.Sub && m.Ticket == s.Ticket {
			return slices.Contains(g.wishes(m), role)
		}
	}
	return false
}

func (f *finder) valid() bool {
	for _, region := range f.regions {
		f.match.Region = region
		if len(Check(f.p, f.match, f.now)) == 0 {
			return true
		}
	}
	return false
}
