package decide

import (
	"math"
	"math/bits"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// latency holds in the regions where the greatest latency of the players, or their mean, is at most the limit and the
// greatest exceeds the least by at most the spread. A region that somebody did not measure does not count.
type latency struct {
	scope     scope
	takesMean bool
	missing   profile.Missing
}

func (k *latency) admitsCandidate(l *lineup, c *candidate, lim *profile.Limits) bool {
	if k.scope.onlyRole != anyRole {
		return true
	}
	limit := lim.Latency
	if k.takesMean {
		// Further tickets may bring a mean below the limit again. Only regions that somebody did not measure, and the
		// spread, exclude a ticket for good.
		limit = math.MaxInt64
	}
	set := l.allowedRegions & k.regionsWithin(c, limit)
	for _, pick := range l.picks {
		if set == 0 {
			return false
		}
		set &= k.regionsWithin(pick, limit)
	}
	return k.withinSpread(set, l, c, lim.Spread) != 0
}

// withinSpread returns those of the regions where no two tickets differ by more than the spread.
func (k *latency) withinSpread(regions uint64, l *lineup, c *candidate, spread time.Duration) (set uint64) {
	if spread == profile.NoSpread {
		return regions
	}
	eachRegion(regions, func(region int) {
		least, worst := time.Duration(math.MaxInt64), time.Duration(0)
		for one := range l.eachWith(c) {
			if !k.leftOut(one) {
				d, _ := k.latencyOf(one, region)
				least, worst = min(least, d), max(worst, d)
			}
		}
		// least > worst: nobody's latency counts, and none is too far from another.
		if least > worst || worst-least <= spread {
			set |= 1 << region
		}
	})
	return set
}

// regionsWithin returns the regions where a ticket's latency is at most the limit.
func (k *latency) regionsWithin(c *candidate, limit time.Duration) uint64 {
	if k.leftOut(c) {
		return everywhere
	}
	if len(c.ticket.Latencies) == 0 {
		// The stand-in is the same in every region.
		if ms, ok := k.standIn(); ok && ms <= limit {
			return everywhere
		}
		return 0
	}
	var set uint64
	for m := c.measuredRegions; m != 0; m &= m - 1 {
		region := bits.TrailingZeros64(m)
		if latencyDuration(c.latencyMillis[region]) <= limit {
			set |= 1 << region
		}
	}
	return set
}

// latencyDuration converts a latency of a candidate, which holds each in two bytes.
func latencyDuration(ms uint16) time.Duration { return time.Duration(ms) * time.Millisecond }

// leftOut reports whether the rule does not look at a ticket. The players of an open match play in its region already:
// their latencies exclude no newcomer.
func (k *latency) leftOut(c *candidate) bool {
	return c.isSeated || k.missing.Pass && k.missing.Value == nil && len(c.ticket.Latencies) == 0
}

// isRequired reports whether a ticket without latencies fails.
func (k *latency) isRequired() bool { return !k.missing.Pass && k.missing.Value == nil }

// standIn returns the latency of a ticket that has none, by the rule; ok is false if the rule names none.
func (k *latency) standIn() (d time.Duration, ok bool) {
	if v := k.missing.Value; v != nil && v.Kind == match.Number {
		return time.Duration(v.Number * float64(time.Millisecond)), true
	}
	return 0, false
}

func (k *latency) judgeLineup(l *lineup, lim *profile.Limits) verdict {
	best := verdict{excess: math.Inf(1), limit: float64(lim.Latency) / float64(time.Millisecond)}
	var set uint64
	for m := l.allowedRegions; m != 0; m &= m - 1 {
		region := bits.TrailingZeros64(m)
		v, ok := k.judgeIn(region, l, lim)
		if !ok {
			continue
		}
		if v.excess == 0 {
			set |= 1 << region
		}
		if v.excess < best.excess || v.excess == best.excess && v.value < best.value {
			best = v
		}
	}
	best.holdingRegions = set
	// No region was measured by everybody. How far that is from holding has no measure; with an infinite excess the search
	// for a nearer line-up would not see how far it is from satisfying other rules.
	if math.IsInf(best.excess, 1) {
		best.excess = 1
	}
	return best
}

// judgeIn judges one region; ok is false if a player did not measure it.
func (k *latency) judgeIn(region int, l *lineup, lim *profile.Limits) (v verdict, ok bool) {
	var least, worst, total time.Duration
	players := 0
	for pick, c := range l.picks {
		n := k.playersOf(l, pick)
		if n == 0 {
			continue
		}
		d, ok := k.latencyOf(c, region)
		if !ok {
			return v, false
		}
		if players == 0 {
			least = d
		}
		least, worst = min(least, d), max(worst, d)
		total += d * time.Duration(n)
		players += n
	}
	value := float64(worst) / float64(time.Millisecond)
	if k.takesMean && players > 0 {
		value = float64(total) / float64(players) / float64(time.Millisecond)
	}
	v = atMost(value, float64(lim.Latency)/float64(time.Millisecond))
	if worst-least > lim.Spread {
		v.excess += float64(worst-lim.Spread-least) / float64(time.Second)
	}
	return v, true
}

// playersOf returns how many players of a pick the rule looks at.
func (k *latency) playersOf(l *lineup, pick int) int {
	c := l.picks[pick]
	if k.leftOut(c) {
		return 0
	}
	if k.scope.onlyRole == anyRole {
		return c.playerCount
	}
	n := 0
	for p := range c.playerCount {
		if l.isInScope(l.firstPlayer[pick]+p, k.scope) {
			n++
		}
	}
	return n
}

// latencyOf returns the latency of a ticket to a region, or the stand-in if the ticket measured no region at all. ok is
// false if it measured only others, or there is no stand-in.
func (k *latency) latencyOf(c *candidate, region int) (d time.Duration, ok bool) {
	if len(c.ticket.Latencies) == 0 {
		return k.standIn()
	}
	if c.measuredRegions&(1<<region) == 0 {
		return 0, false
	}
	return latencyDuration(c.latencyMillis[region]), true
}
