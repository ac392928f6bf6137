package match

import "maps"

// MaxRegions bounds the game regions of a ticket's latencies.
const MaxRegions = 64

// SteadyLatencies bounds the latencies that a client says of its players by those that counted for them before: each is
// moved into the range of the known ones, give or take jump. The latency of a region of which nothing is known counts as
// it is said. claimed has the latencies that were said where another one counts; nil: all count as they are said.
func SteadyLatencies(said map[string]uint16, known []map[string]uint16,
	jump uint16) (counted, claimed map[string]uint16) {
	counted = maps.Clone(said)
	for region, ms := range said {
		least, greatest, isKnown := knownRange(region, known)
		if !isKnown {
			continue
		}
		// least-min(least, jump) is least-jump, but not below 0, which the type cannot hold. The sum does not overflow:
		// each latency is at most MaxLatency.
		bounded := min(max(ms, least-min(least, jump)), min(greatest+jump, MaxLatency))
		if bounded == ms {
			continue
		}
		if claimed == nil {
			claimed = map[string]uint16{}
		}
		counted[region], claimed[region] = bounded, ms
	}
	return counted, claimed
}

// knownRange returns the least and the greatest known latency of a region. Each player of a party may have another one.
func knownRange(region string, known []map[string]uint16) (least, greatest uint16, isKnown bool) {
	for _, latencies := range known {
		ms, has := latencies[region]
		if !has {
			continue
		}
		if !isKnown {
			least, greatest = ms, ms
		}
		least, greatest, isKnown = min(least, ms), max(greatest, ms), true
	}
	return least, greatest, isKnown
}

// RememberedLatencies returns what is known of a player's latencies after some of them have counted. Regions that were
// not measured this time stay, so that leaving one out for once does not make it unknown; new ones are added up to
// [MaxRegions].
func RememberedLatencies(known, counted map[string]uint16) map[string]uint16 {
	all := make(map[string]uint16, max(len(known), len(counted)))
	maps.Copy(all, known)
	for region, ms := range counted {
		if _, has := all[region]; has || len(all) < MaxRegions {
			all[region] = ms
		}
	}
	return all
}
