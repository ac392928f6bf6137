package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// checkEquality: of same, all values are equal; of different, no two are.
func (g *game) checkEquality(r profile.Rule) (found []Violation) {
	entries := g.comparedEntries(r, r.Attribute, anything...)
	for _, team := range g.teamScopes(r.PerTeam) {
		there := entriesOf(entries, team)
		for i, a := range there {
			for _, b := range there[i+1:] {
				if equalValues(a.value, b.value) != (r.Kind == profile.Same) &&
					!hasEnded(g.limitsBetween(r, a.ticket, b.ticket)) {
					found = append(found, newViolation(r.ID, "%s and %s do not fit", a.holderName, b.holderName))
				}
			}
		}
	}
	return found
}

// checkCommon: so many values are in every list.
func (g *game) checkCommon(r profile.Rule) (found []Violation) {
	entries := g.comparedEntries(r, r.Attribute, texts...)
	values := inAll(entries)
	for _, l := range g.limitsNow(r) {
		// Where nobody has a list, the rule holds.
		if !l.Ended && len(values) < l.AtLeast && len(entries) > 0 {
			found = append(found, measuredViolation(r.ID, float64(len(values)), float64(l.AtLeast),
				"%d values are in every list, fewer than %d", len(values), l.AtLeast))
		}
	}
	return found
}

// checkChosen checks that each value that was chosen for the game server is the best one of a common rule.
func (g *game) checkChosen() (found []Violation) {
	for attribute, value := range g.match.Chosen {
		if !g.choosesValue(g.p.Rules, attribute, value) {
			found = append(found, newViolation("chosen", "no rule chooses %q of %s", value, attribute))
		}
	}
	return found
}

// choosesValue reports whether a common rule, or one inside of another, chooses the value.
func (g *game) choosesValue(rules []profile.Rule, attribute, value string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		if r.Kind != profile.Common || r.Attribute != attribute {
			return g.choosesValue(r.Rules, attribute, value)
		}
		values := inAll(g.comparedEntries(r, attribute, texts...))
		if r.Party == profile.Union { // it has no order
			return slices.Contains(values, value)
		}
		return len(values) > 0 && values[0] == value
	})
}

// inAll returns the values that are in every list, the one with the least sum of positions first; of equal sums the
// lowest by bytes.
func inAll(entries []entry) (values []string) {
	if len(entries) == 0 {
		return nil
	}
	for _, v := range textsOf(entries[0].value) {
		misses := func(e entry) bool { return !slices.Contains(textsOf(e.value), v) }
		if !slices.Contains(values, v) && !slices.ContainsFunc(entries, misses) {
			values = append(values, v)
		}
	}
	// By bytes first: the stable sort by positions keeps that order of equal sums.
	slices.Sort(values)
	slices.SortStableFunc(values, func(a, b string) int { return sumPositions(entries, a) - sumPositions(entries, b) })
	return values
}

func sumPositions(entries []entry, v string) (sum int) {
	for _, e := range entries {
		sum += slices.Index(textsOf(e.value), v)
	}
	return sum
}

// checkCount: so many players have one of the values.
func (g *game) checkCount(r profile.Rule) (found []Violation) {
	entries := g.comparedEntries(r, r.Attribute, texts...)
	for _, team := range g.teamScopes(r.PerTeam) {
		n := len(slices.DeleteFunc(entriesOf(entries, team),
			func(e entry) bool { return !hasAny(textsOf(e.value), r.AnyOf) }))
		for _, l := range g.limitsNow(r) {
			if !l.Ended && (n < l.Min || n > l.Max) {
				limit := l.Max
				if n < l.Min {
					limit = l.Min
				}
				found = append(found, measuredViolation(r.ID, float64(n), float64(limit),
					"%d players have one of %q instead of %d to %d", n, r.AnyOf, l.Min, l.Max))
			}
		}
	}
	return found
}

func hasAny(has, wanted []string) bool {
	return slices.ContainsFunc(has, func(t string) bool { return slices.Contains(wanted, t) })
}

// checkAvoid: nobody lists another's sub or, per team, a teammate's.
func (g *game) checkAvoid(r profile.Rule) (found []Violation) {
	entries := g.comparedEntries(r, r.Attribute, texts...)
	for _, e := range entries {
		for _, other := range g.countedMembers(r) {
			// Players who list themselves avoid nobody by that.
			listed := other.seat.Sub != e.holderName && slices.Contains(textsOf(e.value), other.seat.Sub)
			apart := r.PerTeam && !slices.Contains(e.teamNames, other.seat.Team)
			if listed && !apart && !hasEnded(g.limitsBetween(r, e.ticket, other.seat.Ticket)) {
				found = append(found, newViolation(r.ID, "%s avoids %s", e.holderName, other.seat.Sub))
			}
		}
	}
	return found
}
