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

// Find returns a valid new match of some of the tickets in one of the regions; nil: in any region, which then stays
// open. It tries all matches and returns the first valid one. Its time is exponential in the number of tickets, so it
// is for 8 at most.
func Find(p *profile.Profile, tickets []match.Ticket, regions []string, now time.Time) (Match, bool) {
	return FindWith(p, "", tickets, regions, now)
}

// FindWith returns a valid new match that contains the ticket of an id, as [Find] does; "": any match.
func FindWith(p *profile.Profile, id string, tickets []match.Ticket, regions []string, now time.Time) (Match, bool) {
	f := finder{p: p, now: now, regions: regions, mustInclude: id, candidates: candidatesOf(p, tickets)}
	if regions == nil {
		// A match without a region is judged in every region that its players measured.
		f.regions = []string{""}
	}
	// No match has a ticket that is no candidate.
	if id != "" && !slices.ContainsFunc(f.candidates, func(t match.Ticket) bool { return t.ID == id }) {
		return Match{}, false
	}
	if !f.tryFrom(0) {
		return Match{}, false
	}
	return f.triedMatch, true
}

// finder is a search with the match that it has so far. Its try methods try all ways to complete that match: if one
// returns true, the match is valid, else its tickets, seats and roles are as before.
type finder struct {
	p           *profile.Profile
	now         time.Time
	regions     []string
	mustInclude string // the id of a ticket; "": any match
	candidates  []match.Ticket
	triedMatch  Match
}

// tryFrom tries the match with and without each of the candidates from the i-th on.
func (f *finder) tryFrom(i int) bool {
	if i == len(f.candidates) {
		return f.hasValidSizes() && f.trySlots(f.roleSlots())
	}
	f.triedMatch.Tickets = append(f.triedMatch.Tickets, f.candidates[i])
	if f.tryTeams(i, 0) {
		return true
	}
	f.triedMatch.Tickets = f.triedMatch.Tickets[:len(f.triedMatch.Tickets)-1]
	// Without the ticket, unless it is the one that has to be in the match.
	return f.candidates[i].ID != f.mustInclude && f.tryFrom(i+1)
}

// tryTeams tries each team for the players of the i-th candidate from the j-th on, then the candidates after it.
func (f *finder) tryTeams(i, j int) bool {
	t := f.candidates[i]
	if j == len(t.Players) {
		return f.tryFrom(i + 1)
	}
	for _, team := range f.p.Teams {
		isFull := f.countPlayers(team.Name) == team.Max
		// The first player of a party may be in any team, the others only where the one before them allows it.
		if isFull || j > 0 && !f.mayContinueIn(team) {
			continue
		}
		f.triedMatch.Seats = append(f.triedMatch.Seats, Seat{Ticket: t.ID, Sub: t.Players[j].Sub, Team: team.Name})
		if f.tryTeams(i, j+1) {
			return true
		}
		f.triedMatch.Seats = f.triedMatch.Seats[:len(f.triedMatch.Seats)-1]
	}
	return false
}

// mayContinueIn reports whether the party of the last seat may have its next player in the team: it is the same one, or
// both allow parties to split.
func (f *finder) mayContinueIn(team profile.Team) bool {
	last := f.triedMatch.Seats[len(f.triedMatch.Seats)-1].Team
	lastAllowsSplit := slices.ContainsFunc(f.p.Teams,
		func(t profile.Team) bool { return t.Name == last && t.AllowSplit })
	return last == team.Name || lastAllowsSplit && team.AllowSplit
}

func (f *finder) countPlayers(team string) (n int) {
	for _, s := range f.triedMatch.Seats {
		if s.Team == team {
			n++
		}
	}
	return n
}

// hasValidSizes reports whether the match has tickets, and its teams have the sizes that the profile allows.
func (f *finder) hasValidSizes() bool {
	return len(f.triedMatch.Tickets) > 0 && len(newChecker(f.p, f.triedMatch, f.now).checkTeams()) == 0
}

// slot is the place of one player of a team with a role, which has to be taken or may be.
type slot struct {
	teamName, roleName string
	isRequired         bool
	// previousSeat is the index of the seat in the slot before, if that slot is of the same role; else -1. Seats before
	// it are not tried: they would make the same match, with the two slots exchanged.
	previousSeat int
}

func (s slot) isOfSameRole(as slot) bool {
	return s.teamName == as.teamName && s.roleName == as.roleName
}

// roleSlots returns the slots of the match. Optional ones matter only to rules about the players in a role.
func (f *finder) roleSlots() (slots []slot) {
	wantsOptional := slices.ContainsFunc(f.p.Rules, readsRoles)
	for _, t := range f.p.Teams {
		for _, role := range t.Roles {
			for i := range role.Max {
				// No more optional slots than the team has players.
				if i < role.Min || wantsOptional && i < f.countPlayers(t.Name) {
					slots = append(slots,
						slot{teamName: t.Name, roleName: role.Name, isRequired: i < role.Min, previousSeat: -1})
				}
			}
		}
	}
	return slots
}

// readsRoles reports whether a rule, or one inside, depends on who has a role.
func readsRoles(r profile.Rule) bool {
	return r.Role != "" || r.Rates() || slices.ContainsFunc(r.Rules, readsRoles)
}

// trySlots tries each player for the first of the slots, then for the others.
func (f *finder) trySlots(slots []slot) bool {
	if len(slots) == 0 {
		return f.tryRegions()
	}
	first, rest := slots[0], slices.Clone(slots[1:])
	for i := first.previousSeat + 1; i < len(f.triedMatch.Seats); i++ {
		seat := &f.triedMatch.Seats[i]
		if seat.Team != first.teamName || seat.Role != "" || !f.wouldTake(*seat, first.roleName) {
			continue
		}
		if len(rest) > 0 && rest[0].isOfSameRole(first) {
			rest[0].previousSeat = i
		}
		seat.Role = first.roleName
		if f.trySlots(rest) {
			return true
		}
		seat.Role = ""
	}
	if first.isRequired {
		return false
	}
	// Optional slots of a role are alike: if one stays empty, those after it need not be tried.
	return f.trySlots(slices.DeleteFunc(rest, first.isOfSameRole))
}

// wouldTake reports whether the player of a seat would take a role at the age of its ticket: see Profile.Autofill.
func (f *finder) wouldTake(s Seat, role string) bool {
	c := newChecker(f.p, f.triedMatch, f.now)
	for _, m := range c.members {
		if m.seat.Sub == s.Sub && m.seat.Ticket == s.Ticket {
			return slices.Contains(c.wishedRoles(m), role)
		}
	}
	return false
}

// tryRegions tries each region.
func (f *finder) tryRegions() bool {
	for _, region := range f.regions {
		f.triedMatch.Region = region
		if len(Check(f.p, f.triedMatch, f.now)) == 0 {
			return true
		}
	}
	return false
}
