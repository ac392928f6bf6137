package verify

import (
	"slices"

	"github.com/lattice-director/director/match/profile"
)

// equality: of same, all values are equal; of different, no two are.
func (g *game) equality(r profile.Rule) (found []Violation) {
	entries := g.entries(r, r.Attribute, anything...)
	for _, team := range g.scopes(r.PerTeam) {
		there := entriesOf(entries, team)
		for i, a := range there {
			for _, b := range there[i+1:] {
				if equalValues(a.value, b.value) != (r.Kind == profile.Same) &&
					!ended(g.between(r, a.ticket, b.ticket)) {
					found = append(found, violation(r.ID, "%s and %s do not fit", a.who, b.who))
				}
			}
		}
	}
	return found
}

// common: so many values are in every list.
func (g *game) common(r profile.Rule) (found []Violation) {
	entries := g.entries(r, r.Attribute, texts...)
	values := inAll(entries)
	for _, l := range g.limits(r) {
		if !l.Ended && len(values) < l.AtLeast && len(entries) > 0 {
			found = append(found, measured(r.ID, float64(len(values)), float64(l.AtLeast),
				"%d values are in every list, fewer than %d", len(values), l.AtLeast))
		}
	}
	return found
}

// chosen checks that each value that was chosen for the game server is the best one of a common rule.
func (g *game) chosen() (found []Violation) {
	for attribute, value := range g.match.Chosen {
		if !g.chooses(g.p.Rules, attribute, value) {
			found = append(found, violation("chosen", "no rule chooses %q of %s", value, attribute))
		}
	}
	return found
}

func (g *game) chooses(rules []profile.Rule, attribute, value string) bool {
	return slices.ContainsFunc(rules, func(r profile.Rule) bool {
		if r.Kind != profile.Common || r.Attribute != attribute {
			return g.chooses(r.Rules, attribute, value)
		}
		values := inAll(g.entries(r, attribute, texts...))
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
	slices.Sort(values)
	slices.SortStableFunc(values, func(a, b string) int { return positions(entries, a) - positions(entries, b) })
	return values
}

func positions(entries []entry, v string) (sum int) {
	for _, e := range entries {
		sum += slices.Index(textsOf(e.value), v)
	}
	return sum
}

// count: so many players have one of the values.
func (g *game) count(r profile.Rule) (found []Violation) {
	entries := g.entries(r, r.Attribute, texts...)
	for _, team := range g.scopes(r.PerTeam) {
		n := len(slices.DeleteFunc(entriesOf(entries, team),
			func(e entry) bool { return !hasAny(textsOf(e.value), r.AnyOf) }))
		for _, l := range g.limits(r) {
			if !l.Ended && (n < l.Min || n > l.Max) {
				limit := l.Max
				if n < l.Min {
					limit = l.Min
				}
				found = append(found, measured(r.ID, float64(n), float64(limit),
					"%d players have one of %q instead of %d to %d", n, r.AnyOf, l.Min, l.Max))
			}
		}
	}
	return found
}

func hasAny(has, wanted []string) bool {
	return slices.ContainsFunc(has, func(t string) bool { return slices.Contains(wanted, t) })
}

// avoid: nobody lists another's sub or, per team, a teammate's.
func (g *game) avoid(r profile.Rule) (found []Violation) {
	entries := g.entries(r, r.Attribute, texts...)
	for _, e := range entries {
		for _, other := range g.counted(r) {
			listed := other.Sub != e.who && slices.Contains(textsOf(e.value), other.Sub)
			apart := r.PerTeam && !slices.Contains(e.teams, other.Team)
			if listed && !apart && !ended(g.between(r, e.ticket, other.Ticket)) {
				found = append(found, violation(r.ID, "%s avoids %s", e.who, other.Sub))
			}
		}
	}
	return found
}
