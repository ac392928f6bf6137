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
	// Who has the role is not known yet.
	if k.scope.onlyRole != anyRole {
		return true
	}
	// Values only disappear as more lists join, and too few of them stay too few.
	l.pushPick(c)
	values, bound := k.sharedValues(l)
	l.popPick()
	return !bound || len(values) >= lim.AtLeast
}

func (k *common) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	values, bound := k.sharedValues(l)
	if !bound {
		return verdict{holdingRegions: everywhere, limit: float64(lim.AtLeast)}
	}
	// The other way round, since it is a least number; value and limit are put right below.
	v := atMost(float64(lim.AtLeast), float64(len(values)))
	v.value, v.limit = float64(len(values)), float64(lim.AtLeast)
	return v
}

// sharedValues returns the values that are in every list, in the first one's order. bound is false if there is no list.
func (k *common) sharedValues(l *lineup) (values []text, bound bool) {
	for pick := range l.picks {
		for _, list := range k.partyLists(l, pick) {
			if !bound {
				values, bound = distinctTexts(list), true
				continue
			}
			values = slices.DeleteFunc(values, func(t text) bool { return !slices.Contains(list, t) })
		}
	}
	return values, bound
}

// partyLists returns the lists of a pick's players in scope, or one list of what any of them has.
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

func (k *common) sumPositions(l *lineup, t text) int {
	sum := 0
	for pick := range l.picks {
		for _, list := range k.partyLists(l, pick) {
			sum += slices.Index(list, t)
		}
	}
	return sum
}
