package decide

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// common holds if enough values are in every list.
type common struct {
	scope     scope
	attribute string
}

func (k *common) admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool {
	// It is not known yet who has the role.
	if k.scope.onlyRole != anyRole {
		return true
	}
	// Values only disappear as more lists join, and too few of them stay too few.
	l.pushPick(c)
	values, hasLists := k.sharedValues(l)
	l.popPick()
	return !hasLists || len(values) >= lim.AtLeast
}

func (k *common) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	values, hasLists := k.sharedValues(l)
	if !hasLists {
		return verdict{holdingRegions: everywhere, limit: float64(lim.AtLeast)}
	}
	// Value and limit are exchanged, since the limit is a least number, and put right below.
	v := atMost(float64(lim.AtLeast), float64(len(values)))
	v.value, v.limit = float64(len(values)), float64(lim.AtLeast)
	return v
}

// sharedValues returns the values that are in every list, in the order of the first list, and whether there is a list.
func (k *common) sharedValues(l *lineup) (values []text, hasLists bool) {
	for pick := range l.picks {
		for _, list := range k.partyLists(l, pick) {
			if !hasLists {
				values, hasLists = distinctTexts(list), true
				continue
			}
			values = slices.DeleteFunc(values, func(t text) bool { return !slices.Contains(list, t) })
		}
	}
	return values, hasLists
}

// partyLists returns the lists of a pick's players in scope, or where the rule joins parties one list of all values.
func (k *common) partyLists(l *lineup, pick int) [][]text {
	lists := l.picks[pick].listsOf(k.scope.column)
	// A ticket of one player, as most are: its lists are returned as they are, without an allocation.
	if len(lists) == 1 && k.scope.onlyRole == anyRole && lists[0] != nil {
		return lists
	}
	var all [][]text
	for p, list := range lists {
		if list != nil && l.isInScope(l.firstPlayer[pick]+p, k.scope) {
			all = append(all, list)
		}
	}
	if k.scope.partyFold == profile.Union && len(all) > 1 {
		return [][]text{distinctTexts(slices.Concat(all...))}
	}
	return all
}

// distinctTexts returns the texts of a list, each once, in its order.
func distinctTexts(list []text) []text {
	values := make([]text, 0, len(list))
	for _, t := range list {
		if !slices.Contains(values, t) {
			values = append(values, t)
		}
	}
	return values
}

// chosenValue returns the shared value with the least sum of positions in the lists; of equal ones the first by bytes.
func (k *common) chosenValue(l *lineup) (string, bool) {
	values, _ := k.sharedValues(l)
	if len(values) == 0 {
		return "", false
	}
	best := values[0]
	least := k.sumPositions(l, best)
	for _, t := range values[1:] {
		sum := k.sumPositions(l, t)
		if sum < least || sum == least && t.Value() < best.Value() {
			best, least = t, sum
		}
	}
	return best.Value(), true
}

// sumPositions returns the sum of a shared value's positions in the lists.
func (k *common) sumPositions(l *lineup, t text) int {
	sum := 0
	for pick := range l.picks {
		for _, list := range k.partyLists(l, pick) {
			sum += slices.Index(list, t)
		}
	}
	return sum
}
