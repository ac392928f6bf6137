package replay

import (
	"cmp"
	"slices"
	"time"
)

// Capacity are the times when no server had room. The zero value is unlimited.
type Capacity struct {
	Recorded bool
	// Shortages are the recorded ones, in any order. A game region without a shortage has room.
	Shortages []Shortage
}

// Shortage is a time in which a match waited for a server of a game region. When it ends, a server has room for one
// match.
type Shortage struct {
	Region     string
	Begin, End time.Time
}

// servers tracks the shortages of game regions in virtual time.
type servers struct {
	begins, ends []Shortage     // not begun or not ended yet, by the time of that
	openByRegion map[string]int // shortages that are under way, by game region
	waiting      []decided      // matches without a server, oldest decision first
}

// decided is a match that waits for a server.
type decided struct {
	proposal *proposal

	regions []string
}

func newServers(c Capacity) *servers {
	s := &servers{openByRegion: map[string]int{}}
	if c.Recorded {
		s.begins, s.ends = slices.Clone(c.Shortages), slices.Clone(c.Shortages)
	}
	slices.SortFunc(s.begins, func(a, b Shortage) int {
		return cmp.Or(a.Begin.Compare(b.Begin),
			cmp.Compare(a.Region, b.Region))
	})
	slices.SortFunc(s.ends, func(a, b Shortage) int {
		return cmp.Or(a.End.Compare(b.End),
			cmp.Compare(a.Region, b.Region))
	})
	return s
}

// room reports whether one of the regions has a server. A match without seats needs none.
func (s *servers) room(regions []string) bool {
	return len(regions) == 0 || slices.ContainsFunc(regions, func(r string) bool { return s.openByRegion[r] == 0 })
}

// next returns when the next shortage begins or ends; zero: never.
func (s *servers) next() (at time.Time) {
	if len(s.ends) > 0 {
		at = s.ends[0].End
	}
	if len(s.begins) > 0 && (at.IsZero() || s.begins[0].Begin.Before(at)) {
		at = s.begins[0].Begin
	}
	return at
}

// advance begins and ends shortages, and returns the matches that find a server by now.
func (s *servers) advance(now time.Time) (seated []decided) {
	for len(s.begins) > 0 && !s.begins[0].Begin.After(now) {
		// Before those that end: one that begins and ends at the same moment must not bring the count below zero.
		s.openByRegion[s.begins[0].Region]++
		s.begins = s.begins[1:]
	}
	for len(s.ends) > 0 && !s.ends[0].End.After(now) {
		region := s.ends[0].Region
		s.ends = s.ends[1:]
		s.openByRegion[region]--
		seated = append(seated, s.seat(region)...)
	}
	return seated
}

// seat returns the matches that get a server when a shortage ends: one, or all if it was the last shortage of the
// region.
func (s *servers) seat(region string) (seated []decided) {
	s.waiting = slices.DeleteFunc(s.waiting, func(d decided) bool {
		if !slices.Contains(d.regions, region) || s.openByRegion[region] > 0 && len(seated) > 0 {
			return false
		}
		seated = append(seated, d)
		return true
	})
	return seated
}
