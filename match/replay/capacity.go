package replay

import (
	"cmp"
	"slices"
	"time"
)

// Capacity are the times when no server had room. The zero value is unlimited.
type Capacity struct {
	Recorded bool
	// Shortages are the recorded shortages, in any order. A game region without a shortage has room.
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
	pendingBegins, pendingEnds []Shortage     // that have not begun, by their begin; that have not ended, by their end
	openByRegion               map[string]int // how many shortages of a game region are under way
	waitingMatches             []decidedMatch // matches without a server, oldest decision first
}

// decidedMatch is a match that waits for a server.
type decidedMatch struct {
	proposal *proposal

	regions []string
}

func newServers(c Capacity) *servers {
	s := &servers{openByRegion: map[string]int{}}
	if c.Recorded {
		// Two copies, in the order of the begins and in that of the ends.
		s.pendingBegins, s.pendingEnds = slices.Clone(c.Shortages), slices.Clone(c.Shortages)
	}
	slices.SortFunc(s.pendingBegins, func(a, b Shortage) int {
		return cmp.Or(a.Begin.Compare(b.Begin), cmp.Compare(a.Region, b.Region))
	})
	slices.SortFunc(s.pendingEnds, func(a, b Shortage) int {
		return cmp.Or(a.End.Compare(b.End), cmp.Compare(a.Region, b.Region))
	})
	return s
}

// hasRoom reports whether one of the regions has a server. A match without seats needs none.
func (s *servers) hasRoom(regions []string) bool {
	return len(regions) == 0 || slices.ContainsFunc(regions, func(r string) bool { return s.openByRegion[r] == 0 })
}

// nextChange returns when the next shortage begins or ends; zero: never.
func (s *servers) nextChange() (at time.Time) {
	if len(s.pendingEnds) > 0 {
		at = s.pendingEnds[0].End
	}
	if len(s.pendingBegins) > 0 && (at.IsZero() || s.pendingBegins[0].Begin.Before(at)) {
		at = s.pendingBegins[0].Begin
	}
	return at
}

// advanceTo begins and ends shortages, and returns the matches that find a server by now.
func (s *servers) advanceTo(now time.Time) (seated []decidedMatch) {
	// Begins come before ends: a shortage that begins and ends at the same moment must not bring the count below zero.
	for len(s.pendingBegins) > 0 && !s.pendingBegins[0].Begin.After(now) {
		s.openByRegion[s.pendingBegins[0].Region]++
		s.pendingBegins = s.pendingBegins[1:]
	}
	for len(s.pendingEnds) > 0 && !s.pendingEnds[0].End.After(now) {
		region := s.pendingEnds[0].Region
		s.pendingEnds = s.pendingEnds[1:]
		s.openByRegion[region]--
		seated = append(seated, s.seatWaiting(region)...)
	}
	return seated
}

// seatWaiting returns the matches that get a server when a shortage ends: one, or all if it was the last shortage of
// the region.
func (s *servers) seatWaiting(region string) (seated []decidedMatch) {
	s.waitingMatches = slices.DeleteFunc(s.waitingMatches, func(d decidedMatch) bool {
		// The end of a shortage is one server: while others last, the next match waits for the next end.
		if !slices.Contains(d.regions, region) || s.openByRegion[region] > 0 && len(seated) > 0 {
			return false
		}
		seated = append(seated, d)
		return true
	})
	return seated
}
