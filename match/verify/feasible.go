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
	f := finder{p: p, now: now, regions: regions, mustInclude: id}
	for _, t := range tickets {
		if len(Candidate(p, t)) == 0 {
			f.queuedTickets = append(f.queuedTickets, t)
		}
	}
	// A match without a region is judged in every region that its players measured, and in none.
	if regions == nil {
		f.regions = []string{""}
	}
	if id != "" && !slices.ContainsFunc(f.queuedTickets, func(t match.Ticket) bool { return t.ID == id }) {
		// The ticket is no candidate: no match has it.
		return Match{}, false
	}
	ok := f.tryFrom(0)
	return f.triedMatch, ok
}

// finder is a search with the match that it has so far.
type finder struct {
	p             *profile.Profile
	now           time.Time
	regions       []string
	mustInclude   string
	queuedTickets []match.Ticket
	triedMatch    Match
}

// tryFrom tries the match with and without each of the tickets from the i-th on.
func (f *finder) tryFrom(i int) bool {
	if i == len(f.queuedTickets) {
		return f.hasValidSizes() && f.fillSlots(f.roleSlots())
	}
	// First with the ticket: seatPlayers goes on with the next one when all its players have seats.
	f.triedMatch.Tickets = append(f.triedMatch.Tickets, f.queuedTickets[i])
	if f.seatPlayers(i, 0) {
		return true
	}
	f.triedMatch.Tickets = f.triedMatch.Tickets[:len(f.triedMatch.Tickets)-1]
	// Without the ticket, unless it is the one that has to be in the match.
	return f.queuedTickets[i].ID != f.mustInclude && f.tryFrom(i+1)
}

// seatPlayers tries each team for the players of the i-th ticket from the j-th on.
func (f *finder) seatPlayers(i, j int) bool {
	t := f.queuedTickets[i]
	if j == len(t.Players) {
		return f.tryFrom(i + 1)
	}
	for _, team := range f.p.Teams {
		// The first player of a party may go anywhere, the others only where the one before them allows it.
		if f.countPlayers(team.Name) == team.Max || j > 0 && !f.staysTogether(team) {
			continue
		}
		f.triedMatch.Seats = append(f.triedMatch.Seats, Seat{Ticket: t.ID, Sub: t.Players[j].Sub, Team: team.Name})
		if f.seatPlayers(i, j+1) {
			return true
		}
		f.triedMatch.Seats = f.triedMatch.Seats[:len(f.triedMatch.Seats)-1]
	}
	return false
}

// staysTogether reports whether the last player's party may continue in the team.
func (f *finder) staysTogether(team profile.Team) bool {
	last := f.triedMatch.Seats[len(f.triedMatch.Seats)-1].Team
	split := slices.ContainsFunc(f.p.Teams, func(t profile.Team) bool { return t.Name == last && t.AllowSplit })
	// Only where both teams allow it.
	return last == team.Name || split && team.AllowSplit
}

func (f *finder) countPlayers(team string) (n int) {
	for _, s := range f.triedMatch.Seats {
		if s.Team == team {
			n++
		}
	}
	return n
}

func (f *finder) hasValidSizes() bool {
	return len(f.triedMatch.Tickets) > 0 && len(newGame(f.p, f.triedMatch, f.now).checkTeams()) == 0
}

// slot is a role that a player of a team has to have or, while more may have it, can have.
type slot struct {
	teamName, roleName string
	isRequired         bool
	// previousSeat is that of the slot before, if it is of the same role: seats are tried in one order only.
	previousSeat int
}

// roleSlots returns the roles to fill. Optional ones matter only to rules about the players in a role.
func (f *finder) roleSlots() (slots []slot) {
	optional := slices.ContainsFunc(f.p.Rules, aboutRole)
	for _, t := range f.p.Teams {
		for _, role := range t.Roles {
			for i := range role.Max {
				// No more optional places than the team has players.
				if i < role.Min || optional && i < f.countPlayers(t.Name) {
					slots = append(slots,
						slot{teamName: t.Name, roleName: role.Name, isRequired: i < role.Min, previousSeat: -1})
				}
			}
		}
	}
	return slots
}

// aboutRole reports whether a rule, or one inside, looks at who has a role.
func aboutRole(r profile.Rule) bool {
	return r.Role != "" || r.Rates() || slices.ContainsFunc(r.Rules, aboutRole)
}

// fillSlots tries each player for the first of the slots, then for the others.
func (f *finder) fillSlots(slots []slot) bool {
	if len(slots) == 0 {
		return f.tryRegions()
	}
	s, rest := slots[0], slices.Clone(slots[1:])
	for i := s.previousSeat + 1; i < len(f.triedMatch.Seats); i++ {
		if seat := &f.triedMatch.Seats[i]; seat.Team == s.teamName && seat.Role == "" &&
			f.takesSlot(*seat, s.roleName) {
			// The next place of the same role tries later seats only: in the other order it is the same match.
			if len(rest) > 0 && rest[0].teamName == s.teamName && rest[0].roleName == s.roleName {
				rest[0].previousSeat = i
			}
			seat.Role = s.roleName
			if f.fillSlots(rest) {
				return true
			}
			seat.Role = ""
		}
	}
	// Optional places of a role are alike: if one stays empty, those after it need not be tried.
	return !s.isRequired && f.fillSlots(withoutRole(slots[1:], s))
}

// withoutRole returns the slots without further optional ones of the same role.
func withoutRole(slots []slot, of slot) []slot {
	return slices.DeleteFunc(slices.Clone(slots),
		func(s slot) bool { return s.teamName == of.teamName && s.roleName == of.roleName })
}

// takesSlot reports whether a player would take a role at the age of its ticket: see Profile.Autofill.
func (f *finder) takesSlot(s Seat, role string) bool {
	g := newGame(f.p, f.triedMatch, f.now)
	for _, m := range g.members {
		if m.seat.Sub == s.Sub && m.seat.Ticket == s.Ticket {
			return slices.Contains(g.wishedRoles(m), role)
		}
	}
	return false
}

// tryRegions reports whether the tried match is valid in one of the regions, which it then has.
func (f *finder) tryRegions() bool {
	for _, region := range f.regions {
		f.triedMatch.Region = region
		if len(Check(f.p, f.triedMatch, f.now)) == 0 {
			return true
		}
	}
	return false
}
