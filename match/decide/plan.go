package decide

import (
	"math"
	"slices"
	"time"

	"github.com/lattice-director/director/match/profile"
)

// plan is a profile prepared for the search: attributes have columns, roles have numbers, and rules can be judged.
type plan struct {
	profile *profile.Profile
	rules   []*rule
	// preferred are the profile's preferences, and preferredSets all sets of them, the heaviest first.
	preferred     []preference
	preferredSets []preferredSet
	orderCriteria []criterion
	teams         []team
	roleNames     []string // in order of their names

	numberColumns []column // of float64
	atomColumns   []column // of texts and numbers that are compared for equality
	listColumns   []column

	pivot         pivot
	bucketColumns []int           // atom columns that divide candidates
	leastSteps    []leastStep     // ascending
	changeAges    []time.Duration // the ages at which anything changes, ascending
	trades        []trade
	batchColumn   int // number column of the profile's batch; noColumn: the oldest seeds first
	// priorityColumn is the number column of the profile's priority; noColumn: it has none.
	priorityColumn int
	evenBy         evenness

	maxPlayers int  // of a match
	maySplit   bool // a party may be in several teams
	// Traits are what a match needs so many players with: first the roles, then the texts of rules that count.
	traitNeeds       []int // by trait: of all teams
	roleMost         []int // by role: the greatest number of players that one team needs in it
	countedColumns   []int // by trait after the roles: the number column of a rule that counts
	differentColumns []int // the atom columns of `different` rules
	allModes         uint8 // a bit for each of the profile's modes
	limitsLatency    bool  // a rule of its own limits latency
	ratesRoles       bool  // a rule compares numbers that depend on the role that a player gets
	// byMean says that rules widen by the mean age of a match, which passes a step at a time that follows from no single
	// ticket.
	byMean bool
	// mayLeaveRoles says that a match may be valid only if fewer players than possible have a role: rules look at those
	// who have it.
	mayLeaveRoles bool
}

// team is a team of the profile.
type team struct {
	spec       *profile.Team
	roleNeeds  []roleNeed
	classIndex int // teams of a class are interchangeable: nothing in the profile tells them apart
}

// leastStep is the least size of each team from an age on.
type leastStep struct {
	minAge    time.Duration
	teamSizes []int
	totalSize int
}

// trade is a profile's trade, with the column of its numbers.
type trade struct {
	terms profile.Trade

	numberColumn int   // noColumn: of a trade of latency
	byRole       []int // as of a scope
}

// evenness is what the teams of a match are made equal by: the numbers of the first balance rule or preference, else the
// pivot's means.
type evenness struct {
	numberColumn int   // noColumn: the teams are not made equal
	byRole       []int // as of a scope
	partyFold    profile.Fold
	teamFold     profile.Fold
}

// preference is a preference that can be judged.
type preference struct {
	rule   *rule
	weight float64
}

// preferredSet is some preferences with the rules.
type preferredSet struct {
	weight float64 // of its preferences
	rules  []*rule // all rules of the profile, and the preferences
}

// roleNeeds returns by role the least number of players that have it, of all teams.
func (pl *plan) roleNeeds() []int { return pl.traitNeeds[:len(pl.roleNames)] }

// criterion is a number by which the profile orders the candidates for a seed.
type criterion struct {
	numberColumn int
	byDistance   bool // by its distance from the seed's number
	isDescending bool
}

func (pl *plan) roleNumber(name string) int { return slices.Index(pl.roleNames, name) }

func (pl *plan) teamNamed(name string) int {
	return slices.IndexFunc(pl.profile.Teams, func(t profile.Team) bool { return t.Name == name })
}

// leastAt returns the least sizes of the teams of a match of that age.
func (pl *plan) leastAt(age time.Duration) *leastStep {
	i := len(pl.leastSteps) - 1
	for i > 0 && age < pl.leastSteps[i].minAge {
		i--
	}
	return &pl.leastSteps[i]
}

// momentAfter returns the index of the first moment after an age.
func (pl *plan) momentAfter(age time.Duration) int {
	i, _ := slices.BinarySearch(pl.changeAges, age+1)
	return i
}

// needsRoleOf reports whether a player of c would take a role that a match needs.
func (pl *plan) needsRoleOf(c *candidate) bool {
	for role, need := range pl.roleNeeds() {
		if need > 0 && c.traitCounts[role] > 0 {
			return true
		}
	}
	return false
}

// largestParty returns the number of players of the largest party that has a place.
func (pl *plan) largestParty() int {
	switch {
	case pl.profile.Function != nil:
		return math.MaxInt // the function decides
	case pl.maySplit:
		return pl.maxPlayers
	}
	largest := 0
	for i := range pl.teams {
		largest = max(largest, pl.teams[i].spec.Max)
	}
	return largest
}

// allowsSize reports whether a team may have a size, if its least size is least.
func (t *team) allowsSize(size, least int) bool {
	return size >= least && size <= t.spec.Max && (t.spec.Step <= 1 || (size-least)%t.spec.Step == 0)
}

// modeNames returns the profile's modes in a set of bits.
func (pl *plan) modeNames(allowed uint8) []string {
	var modes []string
	for i, mode := range pl.profile.Modes {
		if allowed&(1<<i) != 0 {
			modes = append(modes, mode)
		}
	}
	return modes
}

// columnsByType returns all columns, by their columnType.
func (pl *plan) columnsByType() [3][]column {
	return [3][]column{ofNumbers: pl.numberColumns, ofAtoms: pl.atomColumns, ofLists: pl.listColumns}
}

// numberColumn returns the column of numbers that is like c, a new one if there is none.
func (pl *plan) numberColumn(c column) int { return addColumn(&pl.numberColumns, c) }
