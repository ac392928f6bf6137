package decide

import (
	"cmp"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// The bounds of joining open matches.
const (
	rostersPerSeed = 32 // open matches that a seed tries
	seedsPerRoster = 32 // seeds that an open match makes dirty
	unevenWithout  = 1  // the teams' free seats may differ by so many, or by as many as before
)

// noRegion is the set without a region.
const noRegion = uint64(0)

// PutRoster adds an open match or replaces what was known of it. The oldest seeds become dirty. It has no effect if the
// profile never joins.
func (e *Engine) PutRoster(r Roster) {
	e.RemoveRoster(r.Session)
	if e.plan.profile.JoinInProgress.When == profile.Never || len(r.Teams) != len(e.plan.teams) {
		return
	}
	added := newRoster(r, e.plan, &e.hostRegions)
	place, _ := slices.BinarySearchFunc(e.openRosters, added, (*roster).compareOpened)
	e.openRosters = slices.Insert(e.openRosters, place, added)
	// The oldest seeds take the free seats first, so few others would find one. The sweep reaches those that might.
	for at, n := (cursor{}), 0; !e.ageTree.isEnd(at) && n < seedsPerRoster; n++ {
		e.markDirty(e.ageTree.entryAt(at).c)
		at = e.ageTree.nextCursor(at)
	}
	e.sweep.begin()
}

// RemoveRoster forgets an open match. A session that is unknown is ignored.
func (e *Engine) RemoveRoster(session string) {
	e.openRosters = slices.DeleteFunc(e.openRosters, func(r *roster) bool { return r.openMatch.Session == session })
}

// tryJoin looks for an open match that a seed may join, the one that was opened first, and appends a proposal to found.
// The seats that the seed gets are taken for later seeds, too, until PutRoster.
func (e *Engine) tryJoin(c *candidate, found *[]Proposal, spent *int) bool {
	tried := 0
	for _, r := range e.openRosters {
		// Hundreds of matches may be open: later seeds, and the sweep, try the others.
		if tried == rostersPerSeed {
			return false
		}
		if !e.isJoinable(r, c) {
			continue
		}
		tried++
		*spent += len(e.plan.teams)
		// A region that SetRegions did not name has no number: a rule on latencies holds nowhere then, and keeps all out.
		allowed := noRegion
		if region := e.hostRegions.number(r.openMatch.Region); region >= 0 {
			allowed = 1 << region
		}
		if e.search.joinRoster(e.plan, r, c, e.nowNanos, allowed) {
			e.proposeFound(found)
			joined := &(*found)[len(*found)-1]
			joined.Session = r.openMatch.Session
			if r.openMatch.Mode != "" {
				joined.Modes = []string{r.openMatch.Mode}
			}
			r.seatNewcomer(c, &e.search.finalLine)
			return true
		}
	}
	return false
}

// isJoinable reports whether newcomers may still join, and the seed has room there and allows its mode.
func (e *Engine) isJoinable(r *roster, c *candidate) bool {
	within := e.plan.profile.JoinInProgress.Within
	if within > 0 && time.Duration(e.nowNanos-r.openMatch.Opened.UnixNano()) > within ||
		r.playerCount+c.playerCount > e.plan.maxPlayers {
		return false
	}
	mode := slices.Index(e.plan.profile.Modes, r.openMatch.Mode)
	// A mode that the profile no longer has is none that tickets could refuse.
	return mode < 0 || c.allowedModes&(1<<mode) != 0
}

// joinRoster reports whether the seed may join; teams and roles are then in s.finalLine. Its party stays together.
func (s *search) joinRoster(pl *plan, r *roster, c *candidate, now int64, allowed uint64) bool {
	// A proposal names the choices that its search passed over: a join has none, and must not name those of the last
	// search.
	s.plan, s.seed, s.choices = pl, c, choices{list: s.choices.list[:0], playersUpTo: s.choices.playersUpTo}
	s.line.resetTo(now, allowed, len(pl.teams))
	for _, seated := range r.seatedParties {
		s.line.pushPick(seated)
	}
	if s.refusalOf(&s.line, c) != "" {
		return false
	}
	s.line.pushPick(c)
	s.finalLine.copyByID(&s.line)
	s.takeSeats()
	if !s.holdsWithoutTeams() {
		return false
	}
	pick := slices.Index(s.finalLine.picks, c)
	for _, team := range s.byFreeSeats() {
		if s.fitsInto(team, c) {
			s.finalLine.setTeam(pick, team)
			if s.holdsInTeams() {
				return true
			}
		}
	}
	return false
}

// takeSeats puts the players of the open match where they are.
func (s *search) takeSeats() {
	p := &s.placement
	p.teamSizes = append(p.teamSizes[:0], make([]int, len(s.plan.teams))...)
	for pick, c := range s.finalLine.picks {
		if !c.isSeated {
			continue
		}
		for i, seat := range c.takenSeats {
			s.finalLine.teamByPlayer[s.finalLine.firstPlayer[pick]+i] = seat.teamIndex
			p.teamSizes[seat.teamIndex]++
		}
	}
}

// byFreeSeats returns the teams, those with most free seats first.
func (s *search) byFreeSeats() []int {
	order := make([]int, len(s.plan.teams))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.freePlaces(b), s.freePlaces(a)) })
	return order
}

func (s *search) freePlaces(team int) int {
	return s.plan.teams[team].spec.Max - s.placement.teamSizes[team]
}

// fitsInto reports whether a team has room, and the teams stay even: the match must not become more lopsided than it
// is.
func (s *search) fitsInto(team int, c *candidate) bool {
	if s.freePlaces(team) < c.playerCount {
		return false
	}
	before := s.freeSeatSpread()
	s.placement.teamSizes[team] += c.playerCount
	after := s.freeSeatSpread()
	s.placement.teamSizes[team] -= c.playerCount
	return after <= max(before, unevenWithout)
}

// freeSeatSpread returns by how much the teams differ in free seats.
func (s *search) freeSeatSpread() int {
	least, most := s.freePlaces(0), s.freePlaces(0)
	for team := range s.plan.teams {
		least, most = min(least, s.freePlaces(team)), max(most, s.freePlaces(team))
	}
	return most - least
}

// holdsInTeams casts the roles and judges the rules that look at teams. A role may stay empty while its team has a free
// seat for it.
func (s *search) holdsInTeams() bool {
	s.roleCaster.resetRoles(&s.finalLine)
	for team := range s.plan.teams {
		needs := s.plan.teams[team].roleNeeds
		empty := s.roleCaster.castRoles(team, needs)
		if empty > s.plan.teams[team].spec.Max-s.finalLine.teamSize(team) {
			return false
		}
		s.roleCaster.castMore(team, needs)
	}
	v := s.violationOf(0)
	// Ratings depend on the role: another division of the same roles may hold.
	if v > 0 && s.plan.ratesRoles {
		v = s.exchangeRoles(v)
	}
	return v == 0
}
