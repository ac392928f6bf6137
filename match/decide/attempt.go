package decide

// runSearch searches for a match of a seed in the allowed regions, and returns the steps that it took.
func (e *Engine) runSearch(c *candidate, allowed uint64, nodes int) (ok bool, spent int) {
	ok = e.search.findMatch(e.plan, c, e.nowNanos, allowed, nodes, e.lotOf(c))
	return ok, nodes - e.search.stepsLeft + e.search.choices.scannedCount/scannedPerStep
}

// searchEffort returns the steps of a search: more for a seed that has waited longer, and for one whose last searches
// found nothing, until it is stuck.
func (e *Engine) searchEffort(c *candidate) int {
	// A stuck seed is searched by the sweep and when its rules widen: at little cost, for there may be many.
	if c.failedSearches == stuckAfter {
		return baseNodes
	}
	const maxDoublings = 8 // after which the steps exceed maxNodes, and far before they overflow
	doublings := e.plan.momentAfter(e.ageOf(c)) + int(c.failedSearches)
	return min(maxNodes, baseNodes<<min(doublings, maxDoublings))
}

// lotOf returns the random numbers of a search. They change with time, so that a search that failed tries other orders
// when it is repeated, and do not depend on earlier searches, of which a replay that begins later knows nothing.
func (e *Engine) lotOf(c *candidate) lot {
	return newLot(e.lotSeed^uint64(e.nowNanos/int64(retryAfter)), c.ticket.ID)
}

// searchedRegions returns the sets of regions in which a match is searched, in this order.
func (e *Engine) searchedRegions() []uint64 {
	// With room nowhere or everywhere, one search is enough.
	if e.hostRegions.roomyRegions == 0 || e.hostRegions.roomyRegions == e.hostRegions.knownRegions {
		return []uint64{e.hostRegions.knownRegions}
	}
	return []uint64{e.hostRegions.roomyRegions, e.hostRegions.knownRegions}
}
