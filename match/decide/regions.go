package decide

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/lattice-director/director/match/profile"
)

// maxRegions is how many game regions a decision considers: they fit into the bits of a word.
const maxRegions = 64

// Region is a game region that may host matches.
type Region struct {
	Name string
	Room bool // it has a host for another match now
}

// RegionsOf returns the game regions that have instances of a mode of the profile, by name, and whether one has room
// for a match. free has the free seats of the instance with the most, by region and mode.
func RegionsOf(p *profile.Profile, free map[string]map[string]int) []Region {
	var all []Region
	for _, name := range slices.Sorted(maps.Keys(free)) {
		r := Region{Name: name}
		offered := false
		for _, m := range p.Modes {
			seats, ok := free[name][m]
			offered = offered || ok
			r.Room = r.Room || seats > 0
		}
		if offered {
			all = append(all, r)
		}
	}
	return all
}

// regionSet numbers the game regions in the order of their names.
type regionSet struct {
	names        []string
	knownRegions uint64 // a bit for each
	roomyRegions uint64 // those that have a host now
}

func newRegionSet(regions []Region) regionSet {
	sorted := slices.Clone(regions)
	slices.SortFunc(sorted, func(a, b Region) int { return strings.Compare(a.Name, b.Name) })
	var s regionSet
	for _, r := range sorted {
		// A name that occurs twice is one region, with room if either has room.
		if s.number(r.Name) < 0 && len(s.names) < maxRegions {
			s.names = append(s.names, r.Name)
		}
		if i := s.number(r.Name); i >= 0 && r.Room {
			s.roomyRegions |= 1 << i
		}
	}
	s.knownRegions = everywhere // with all 64, the shift below would give 0
	if len(s.names) < maxRegions {
		s.knownRegions = 1<<len(s.names) - 1
	}
	return s
}

// number returns the number of a region; -1: it has none.
func (s *regionSet) number(name string) int {
	i, found := slices.BinarySearch(s.names, name)
	if !found {
		return -1
	}
	return i
}

// measureCandidate gives the candidate its ticket's latencies.
func (s *regionSet) measureCandidate(c *candidate) {
	c.latencyMillis, c.measuredRegions = nil, 0
	if len(c.ticket.Latencies) == 0 {
		return
	}
	c.latencyMillis = make([]uint16, len(s.names))
	for i, name := range s.names {
		ms, ok := c.ticket.Latencies[name]
		if !ok {
			ms = unmeasured
		} else {
			c.measuredRegions |= 1 << i
		}
		c.latencyMillis[i] = ms
	}
}

// RegionChoice is a region that a match may be played in.
type RegionChoice struct {
	Name string
	Room bool
	// Measured says that every player measured the latency to it. Worst and Mean are in milliseconds, of the players,
	// and zero if not Measured.
	Measured bool
	Worst    int
	Mean     float64
	Weight   float64 // of the preferences that hold there
}

// rankRegions lists the regions of a set, best first.
func (s *regionSet) rankRegions(set uint64, l *lineup, pl *plan) []RegionChoice {
	var choices []RegionChoice
	preferences := pl.judgePreferences(l)
	eachRegion(set&s.knownRegions, func(region int) {
		choice := s.choiceOf(region, l)
		choice.Weight = pl.weightIn(1<<region, preferences)
		choices = append(choices, choice)
	})
	preferred := func(name string) int {
		if i := slices.Index(pl.profile.Regions, name); i >= 0 {
			return i
		}
		return math.MaxInt
	}
	slices.SortStableFunc(choices, func(a, b RegionChoice) int {
		worst := 0
		// Without a limit nobody said that the worst latency matters; the mean then decides.
		if pl.limitsLatency {
			worst = cmp.Compare(a.Worst, b.Worst)
		}
		// Room comes before all preferences, since the players wait for a host without it. The name makes the order
		// certain.
		return cmp.Or(trueFirst(a.Room, b.Room), cmp.Compare(b.Weight, a.Weight), trueFirst(a.Measured, b.Measured),
			worst, cmp.Compare(a.Mean, b.Mean), cmp.Compare(preferred(a.Name), preferred(b.Name)),
			strings.Compare(a.Name, b.Name))
	})
	return choices
}

// trueFirst orders what is true before what is not.
func trueFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// choiceOf computes the latencies of a region over the players that measured any region, without those of an open match.
func (s *regionSet) choiceOf(region int, l *lineup) RegionChoice {
	r := RegionChoice{Name: s.names[region], Room: s.roomyRegions&(1<<region) != 0}
	players, total := 0, 0
	for _, c := range l.picks {
		// A ticket that measured nothing would make every region of the match unmeasured.
		if c.isSeated || c.measuredRegions == 0 {
			continue
		}
		if c.measuredRegions&(1<<region) == 0 {
			// Somebody did not measure the region, so that no latency can be given for the whole match.
			return RegionChoice{Name: r.Name, Room: r.Room}
		}
		ms := int(c.latencyMillis[region])
		r.Worst = max(r.Worst, ms)
		players += c.playerCount
		total += ms * c.playerCount
	}
	if players > 0 {
		r.Measured = true
		r.Mean = float64(total) / float64(players)
	}
	return r
}

// reachableRegions returns the regions of the seed if whoever plays with the seed must have measured one of them, else
// everywhere.
func (pl *plan) reachableRegions(seed *candidate, l *lineup) uint64 {
	for _, r := range pl.rules {
		k, ok := r.condition.(*latency)
		if !ok || k.scope.onlyRole != anyRole || !k.isRequired() || r.limitsAt(l.ageOf(seed)).Ended {
			continue
		}
		return seed.measuredRegions & l.allowedRegions
	}
	return everywhere
}
