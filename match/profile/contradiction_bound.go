package profile

import (
	"slices"
	"strings"
)

// group is some players of a match: those of one team or of all, in one role or any, who have a value of a column.
type group struct {
	column    valueColumn
	teamIndex int    // index in the profile's teams; wholeMatch
	roleName  string // "": any
}

const wholeMatch = -1

// isWithin reports whether all players of the group are players of the other one.
func (g group) isWithin(o group) bool {
	return g.column == o.column && (o.teamIndex == wholeMatch || g.teamIndex == o.teamIndex) &&
		(o.roleName == "" || g.roleName == o.roleName)
}

// quantity is a number that a match has. The zero quantity is 0.
type quantity struct {
	name  string // such as "lowest"
	group group
}

// The names of quantities about which more is known than their bounds.
const (
	lowestName  = "lowest"
	highestName = "highest"
	meanName    = "mean"
	playersName = "players"
	countPrefix = "count of "
)

// bound says that lowerQuantity - rightQuantity <= limit or, if strict, < limit.
type bound struct {
	lowerQuantity, rightQuantity quantity
	limit                        float64
	isStrict                     bool
	isRounded                    bool   // matches compute the difference with rounding, so that it may be a little more
	fromClaim                    *claim // nil: it follows from the teams, or from the meaning of the quantities
	factText                     string // what the bound says of the teams, for people; "": it needs no words
}

// claim is a rule that must hold or, somewhere below not, must not.
type claim struct {
	rule       *Rule
	isNegated  bool
	stepLimits Limits // that the rule has, at one of its steps
}

// way is one way in which claims can be true: their bounds hold, and groups have players.
type way struct {
	numberBounds  []bound
	factBounds    []bound // that hold in any case
	presentGroups []group // that have players with a value
}

// joinedWith returns the way in which both are true.
func (w way) joinedWith(o way) way {
	return way{slices.Concat(w.numberBounds, o.numberBounds), slices.Concat(w.factBounds, o.factBounds),
		slices.Concat(w.presentGroups, o.presentGroups)}
}

// maxWays bounds the ways of a rule. A rule with more is taken to be satisfiable.
const maxWays = 256

// alwaysTrue has the one way of a claim that every match satisfies.
var alwaysTrue = []way{{}}

// eachWith returns the ways in which a and b are both true: each of a together with each of b.
func eachWith(a, b []way) (all []way) {
	// Taken to be satisfiable: see maxWays.
	if len(a)*len(b) > maxWays {
		return alwaysTrue
	}
	for _, x := range a {
		for _, y := range b {
			all = append(all, x.joinedWith(y))
		}
	}
	return all
}

// includesCount reports whether a count includes all players that another one counts.
func (q quantity) includesCount(o quantity) bool {
	if !strings.HasPrefix(q.name, countPrefix) || !o.group.isWithin(q.group) {
		return false
	}
	// A name is the prefix with the column, then the values that are counted: see countedQuantity.
	all, some := strings.Split(q.name, "\x00"), strings.Split(o.name, "\x00")
	return all[0] == some[0] && !slices.ContainsFunc(some, func(v string) bool { return !slices.Contains(all, v) })
}

// players returns the group without its column: its players, also those without a value.
func (g group) players() group { return group{teamIndex: g.teamIndex, roleName: g.roleName} }

func (g group) lowestValue() quantity { return quantity{lowestName, g} }

func (g group) highestValue() quantity { return quantity{highestName, g} }

// countedQuantity returns the number of players of a group who have one of some values.
func countedQuantity(g group, anyOf []string) quantity {
	// Sorted, so that two rules about the same values have one quantity.
	name := append([]string{countPrefix + g.column.String()}, slices.Sorted(slices.Values(anyOf))...)
	return quantity{strings.Join(name, "\x00"), g.players()}
}

// valueCount returns the number of players of a group who have a value, whatever it is.
func valueCount(g group) quantity {
	return quantity{countPrefix + "values of " + g.column.String(), g.players()}
}

// quantityTaken returns the quantity that a fold takes of the values of a group.
func quantityTaken(by Fold, g group) quantity {
	switch by {
	case FoldMin:
		return g.lowestValue()
	case FoldMax:
		return g.highestValue()
	case FoldMean:
		return quantity{meanName, g}
	default: // FoldSum
		// The group is of all players and not of those with a value, since there is a sum without values, too: 0.
		return quantity{"sum of " + g.column.String(), g.players()}
	}
}
