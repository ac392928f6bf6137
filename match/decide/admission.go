package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Lack is a reason why a ticket is no candidate of a profile.
type Lack struct {
	Why       LackReason
	Attribute string // of LacksAttribute and LacksSource
	Rule      string // of LacksAttribute and LacksLatency: the id of the rule that needs it
	Sub       string // of LacksAttribute and LacksSource: the first such player
}

// LackReason is a kind of [Lack].
type LackReason string

// The reasons why a ticket is no candidate.
const (
	LacksPlayer    LackReason = "player"     // it names no player
	LacksPool      LackReason = "pool"       // the profile's filters do not hold it, or it asks for other profiles
	LacksAttribute LackReason = "attribute"  // a player has no value that the rule can compare
	LacksSource    LackReason = "source"     // a value is of a weaker source than the profile asks for
	LacksLatency   LackReason = "latency"    // it measured no region
	LacksRoom      LackReason = "party_size" // its party is larger than any team
	LacksMode      LackReason = "mode"       // it allows none of the profile's modes

	LacksRule   LackReason = "own_party" // only of [NeverMatches]: its own players break a rule at every step
	LacksPlaces LackReason = "roles"     // only of [NeverMatches]: no team has places for its players with their roles
)

// NeverMatches returns why a ticket can be in no match of a profile, whatever the other tickets are and however long it
// waits, nil if it may be in one. The answer depends on the ticket alone: regions without a host count as if they had
// one.
func NeverMatches(p *profile.Profile, t *match.Ticket) []Lack {
	pl := newPlan(p)
	lacks := pl.findLacks(t)
	// A ticket that is no candidate needs no further reason, and a match function decides without rules.
	if len(lacks) > 0 || p.Function != nil {
		return lacks
	}
	regions := newRegionSet(possibleRegions(p, t))
	c := pl.newCandidate(t, &regions)
	if p.Autofill > 0 {
		pl.takeAnyRole(c)
	}
	for _, r := range pl.rules {
		if !pl.everAdmitsAlone(r, c, regions.knownRegions) {
			lacks = append(lacks, Lack{Why: LacksRule, Rule: r.id})
		}
	}
	if !pl.hasPlaces(c) {
		lacks = append(lacks, Lack{Why: LacksPlaces})
	}
	return lacks
}

// possibleRegions returns the regions that may host a match of the ticket: those of the profile, else those that it
// measured, else any.
func possibleRegions(p *profile.Profile, t *match.Ticket) (all []Region) {
	for _, name := range p.Regions {
		all = append(all, Region{Name: name})
	}
	if len(all) > 0 {
		return all
	}
	for name := range t.Latencies {
		all = append(all, Region{Name: name})
	}
	// A region that nobody measured stands for any: rules on latencies are judged in a region.
	if len(all) == 0 {
		all = append(all, Region{})
	}
	return all
}

// longestWait is an age at which every rule has widened to its last step.
const longestWait = 365 * 24 * time.Hour

// everAdmitsAlone reports whether a rule holds for a ticket alone at some age.
func (pl *plan) everAdmitsAlone(r *rule, c *candidate, regions uint64) bool {
	var l lineup
	// At every step and not only the last: a step of = or != is not wider than the one before.
	for _, age := range slices.Concat([]time.Duration{0, longestWait}, pl.changeAges) {
		l.resetTo(c.createdNanos+int64(age), regions, len(pl.teams))
		if r.mayAdmit(&l, c) {
			return true
		}
	}
	return false
}

// hasPlaces reports whether a team can seat the whole party: players without a role of the team take places that no
// role needs.
func (pl *plan) hasPlaces(c *candidate) bool {
	if len(pl.roleNames) == 0 || pl.maySplit || pl.profile.Autofill > 0 { // players who have waited take any role
		return true
	}
	return slices.ContainsFunc(pl.teams, func(t team) bool { return t.canSeat(c) })
}

// canSeat reports whether the party fits into the team once the best others have filled the rest of its roles.
func (t *team) canSeat(c *candidate) bool {
	var places []int // the role of each place that has to be filled
	for _, need := range t.roleNeeds {
		places = append(places, slices.Repeat([]int{need.roleIndex}, min(need.minPlayers, math.MaxUint8))...)
	}
	filled := 0
	holders := make([]int, len(places)) // the player of each place, from 1; 0: none
	for player := range c.wantedRoles {
		if takePlace(c, player, places, holders, make([]bool, len(places))) {
			filled++
		}
	}
	// Places that the party does not fill are left for others.
	return c.playerCount+len(places)-filled <= t.spec.Max
}

// takePlace gives a player one of the places, for which players who have one may change to another.
func takePlace(c *candidate, player int, places, holders []int, visited []bool) bool {
	for i, role := range places {
		if visited[i] || !slices.Contains(c.wantedRoles[player], uint8(role)) {
			continue
		}
		visited[i] = true
		if holders[i] == 0 || takePlace(c, holders[i]-1, places, holders, visited) {
			holders[i] = player + 1
			return true
		}
	}
	return false
}

// findLacks returns why a ticket can be in no match of the profile, as far as it depends on the ticket alone.
func (pl *plan) findLacks(t *match.Ticket) []Lack {
	var lacks []Lack
	p := pl.profile
	if len(t.Players) == 0 {
		lacks = append(lacks, Lack{Why: LacksPlayer})
	}
	// A profile without a pool has only the tickets that name it.
	asksForIt := slices.Contains(t.Profiles, p.Name) || len(t.Profiles) == 0 && p.Pool != nil
	if !asksForIt || p.Pool != nil && !p.Pool.Holds(t.Fields) {
		lacks = append(lacks, Lack{Why: LacksPool})
	}
	if len(t.Players) > pl.largestParty() {
		lacks = append(lacks, Lack{Why: LacksRoom})
	}
	if len(p.Modes) > 0 && pl.modesOf(t) == 0 {
		lacks = append(lacks, Lack{Why: LacksMode})
	}
	return pl.lackedColumns(t, pl.lackedLatencies(t, pl.lackedSources(t, lacks)))
}

// lackedSources adds the first value whose source is weaker than the profile asks for.
func (pl *plan) lackedSources(t *match.Ticket, lacks []Lack) []Lack {
	for i := range t.Players {
		if name, weak := pl.profile.Weak(&t.Players[i]); weak {
			return append(lacks, Lack{Why: LacksSource, Attribute: name, Sub: t.Players[i].Sub})
		}
	}
	return lacks
}

// lackedLatencies adds the rules that need a latency, of a ticket that has none.
func (pl *plan) lackedLatencies(t *match.Ticket, lacks []Lack) []Lack {
	for _, r := range pl.rules {
		if l, ok := r.condition.(*latency); ok && l.isRequired() && len(t.Latencies) == 0 && !r.everEnds() {
			lacks = append(lacks, Lack{Why: LacksLatency, Rule: r.id})
		}
	}
	return lacks
}

// lackedColumns adds the first player who lacks what a column needs of all players.
func (pl *plan) lackedColumns(t *match.Ticket, lacks []Lack) []Lack {
	for ofType, columns := range pl.columnsByType() {
		for i := range columns {
			c := &columns[i]
			// A value that only players in a role need keeps a player out of the role, not its ticket out of the
			// candidates: see suitsRole.
			if c.isOptional || c.onlyRole != anyRole {
				continue
			}
			for j := range t.Players {
				if !c.isComparable(columnType(ofType), pl.profile, &t.Players[j]) {
					lacks = append(lacks,
						Lack{Why: LacksAttribute, Attribute: c.attribute, Rule: c.ruleID, Sub: t.Players[j].Sub})
					break
				}
			}
		}
	}
	return lacks
}
