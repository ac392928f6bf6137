package verify

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// checkLatency checks that everybody reported the region, and that the highest latency, or the mean, and the difference
// between the highest and the lowest are within the limits.
func (c *checker) checkLatency(r profile.Rule) (found []Violation) {
	limits := c.limitsOf(r)
	if hasEnded(limits) {
		return nil
	}
	entries, found := c.latencyEntries(r)
	// Nobody counts, and no latency is too high.
	if len(entries) == 0 {
		return found
	}
	milliseconds := numbersOf(entries)
	measured := slices.Max(milliseconds)
	spread := measured - slices.Min(milliseconds)
	if r.TakeMean {
		measured, _ = foldNumbers(profile.FoldMean, milliseconds)
	}
	for _, l := range limits {
		if l.Ended {
			continue
		}
		if limit := inMilliseconds(l.Latency); measured > limit {
			found = append(found, measuredViolation(r.ID, measured, limit, "players are too far from region %q",
				c.region))
		}
		if limit := inMilliseconds(l.Spread); l.Spread != profile.NoSpread && spread > limit {
			found = append(found, measuredViolation(r.ID, spread, limit,
				"players' latencies to region %q differ by too much", c.region))
		}
	}
	return found
}

// latencyEntries returns the latencies to the region in milliseconds, or what the rule puts in the place of those of a
// player who has measured no region, and the violations of players who have no latency to it.
func (c *checker) latencyEntries(r profile.Rule) (entries []entry, unreported []Violation) {
	var ofPlayers []entry
	for _, m := range c.countedMembers(r) {
		ms, hasLatency := m.latencies[c.region]
		// A player who has measured only other regions cannot play in this one.
		hasNone := len(m.latencies) == 0
		// Players of a roster whose latencies are not known play already, and fail no rule.
		isLeftOut := hasNone && r.Missing.Pass || m.inRoster && m.latencies == nil
		switch {
		case hasNone && r.Missing.Value != nil:
			ofPlayers = append(ofPlayers, playerEntry(m, *r.Missing.Value))
		case hasLatency:
			ofPlayers = append(ofPlayers, playerEntry(m, match.Value{Kind: match.Number, Number: float64(ms)}))
		case !isLeftOut:
			unreported = append(unreported, newViolation(r.ID, "player %s did not report region %q", m.seat.Sub,
				c.region))
		}
	}
	return foldParties(r.Party, ofPlayers), unreported
}

func inMilliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
