package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkLatency: everybody reported the region, and the greatest latency, or the mean, and their spread are within the
// limits.
func (g *game) checkLatency(r profile.Rule) (found []Violation) {
	limits := g.limitsNow(r)
	if hasEnded(limits) {
		return nil
	}
	entries, found := g.latencyEntries(r)
	// Nobody counts, and no latency is too great; players without one are reported in found.
	if len(entries) == 0 {
		return found
	}
	by, numbers := profile.FoldMax, numbersOf(entries)
	if r.TakeMean {
		by = profile.FoldMean
	}
	value, _ := foldNumbers(by, numbers)
	spread := slices.Max(numbers) - slices.Min(numbers)
	for _, l := range limits {
		if most := inMilliseconds(l.Latency); !l.Ended && value > most {
			found = append(found, measuredViolation(r.ID, value, most, "players are too far from region %q",
				g.matchRegion))
		}
		if most := inMilliseconds(l.Spread); !l.Ended && l.Spread != profile.NoSpread && spread > most {
			found = append(found, measuredViolation(r.ID, spread, most,
				"players' latencies to region %q differ by too much",
				g.matchRegion))
		}
	}
	return found
}

// latencyEntries returns the players' latencies to the region, or what stands in for one that was not measured.
func (g *game) latencyEntries(r profile.Rule) (found []entry, missing []Violation) {
	for _, m := range g.countedMembers(r) {
		ms, ok := m.latencies[g.matchRegion]
		v := match.Value{Kind: match.Number, Number: float64(ms)}
		none := len(m.latencies) == 0 // who has measured other regions cannot play in this one
		if none && r.Missing.Value != nil {
			v, ok = *r.Missing.Value, true
		}
		switch {
		case ok:
			found = append(found, entry{m.seat.Ticket, m.seat.Sub, []string{m.seat.Team}, v})
		// Players of a roster whose latencies are not known play already, and fail no rule.
		case !(r.Missing.Pass && none) && !(m.isSeated && m.latencies == nil):
			missing = append(missing, newViolation(r.ID, "player %s did not report region %q", m.seat.Sub,
				g.matchRegion))
		}
	}
	return foldEntries(r.Party, found), missing
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
