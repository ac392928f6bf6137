package loop

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// hosts is what this worker knows of the game regions: a hint, since only a transaction sees whether a server has room.
type hosts struct {
	largestFree map[string]map[string]int // free seats of the instance that has most, by region and mode
	freeSeats   budget                    // free seats of all instances
	knownModes  map[string]bool           // the modes that the last reading asked for
	readAt      time.Time
}

// regionsOf returns the game regions that may host matches of a profile. While no server offers the profile's modes
// anywhere, it returns those that the profile lists, without room: matches wait there, so that their demand says where
// servers are missing.
func (h hosts) regionsOf(p *profile.Profile) []decide.Region {
	all := decide.RegionsOf(p, h.largestFree)
	if len(all) == 0 && len(p.Modes) > 0 {
		for _, name := range p.Regions {
			all = append(all, decide.Region{Name: name})
		}
	}
	return all
}

// knowsModes reports whether each mode was asked for at the last reading.
func (h hosts) knowsModes(modes []string) bool {
	for _, m := range modes {
		if !h.knownModes[m] {
			return false
		}
	}
	return true
}

// roomFirst returns the game regions of a decided match, those first that are known to have a server with room.
func (h hosts) roomFirst(found decide.Proposal, size int) []string {
	var room, others []string
	for _, r := range found.Regions {
		if h.hasRoom(r.Name, found.Modes, size) {
			room = append(room, r.Name)
		} else {
			others = append(others, r.Name)
		}
	}
	return append(room, others...)
}

func (h hosts) hasRoom(region string, modes []string, size int) bool {
	return slices.ContainsFunc(modes, func(m string) bool { return h.largestFree[region][m] >= size })
}

// budget is how many seats waiting matches may still take, so that hardly more matches are sent than fit: thousands that
// do not fit would lock their tickets in vain, and stop all other decisions meanwhile.
type budget map[place]int

// place is a mode in a game region.
type place struct{ region, mode string }

// takeSeats makes the best game region that may have a server for a match the one that the match tries next, subtracts
// its seats from the budget, and reports whether there is such a region.
func (b budget) takeSeats(h hosts, j *job) bool {
	for i, region := range j.match.Regions {
		for _, mode := range j.match.Modes {
			at := place{region, mode}
			if h.largestFree[region][mode] >= j.match.Size && b[at] >= j.match.Size {
				b[at] -= j.match.Size
				j.regionIndex = i
				return true
			}
		}
	}
	return false
}
