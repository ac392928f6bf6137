package verify

import (
	"fmt"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// latency: everybody reported the region, and the greatest latency, or the mean, and their spread are within the
// limits.
func (g *game) latency(r profile.Rule) (found []Violation) {
	limits := g.limits(r)
	if ended(limits) {
		return nil
	}
	entries, found := g.latencies(r)
	if len(entries) == 0 {
		return found
	}
	by, numbers := profile.FoldMax, numbersOf(entries)
	if r.TakeMean {
		by = profile.FoldMean
	}
	value, _ := take(by, numbers)
	spread := slices.Max(numbers) - slices.Min(numbers)
	for _, l := range limits {
		if most := milliseconds(l.Latency); !l.Ended && value > most {
			found = append(found, measured(r.ID, value, most, "players are too far from region %q", g.region))
		}
		if most := milliseconds(l.Spread); !l.Ended && l.Spread != profile.NoSpread && spread > most {
			found = append(found, measured(r.ID, spread, most, "players' latencies to region %q differ by too much",
				g.region))
		}
	}
	return found
}

// latencies returns the players' latencies to the region, or what stands in for one that was not measured.
func (g *game) latencies(r profile.Rule) (found []entry, missing []Violation) {
	for _, m := range g.counted(r) {
		ms, ok := m.latencies[g.region]
		v := match.Value{Kind: match.Number, Number: float64(ms)}
		none := len(m.latencies) == 0 // who has measured other regions cannot play in this one
		if none && r.Missing.Value != nil {
			v, ok = *r.Missing.Value, true
		}
		switch {
		case ok:
			found = append(found, entry{m.Ticket, m.Sub, []string{m.Team}, v})
		case !(r.Missing.Pass && none) && !(m.roster && m.latencies == nil):
			missing = append(missing, violation(r.ID, "player %s did not report region %q", m.Sub, g.region))
		}
	}
	return fold(r.Party, found), missing
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// compound: of or, one rule holds; of and, all; of not, they do not all hold.
func (g *game) compound(r profile.Rule) []Violation {
	if ended(g.limits(r)) {
		return nil
	}
	var broken []Violation
	for _, child := range r.Rules {
		found := g.rule(child)
		if len(found) == 0 && r.Kind == profile.Or {
			return nil
		}
		broken = append(broken, found...)
	}
	switch {
	case r.Kind != profile.Not && len(broken) > 0:
		return []Violation{violation(r.ID, "%s", fmt.Sprint("not satisfied: ", broken))}
	case r.Kind == profile.Not && len(broken) == 0:
		return []Violation{violation(r.ID, "what must not hold does")}
	}
	return nil
}
