package loop

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// shadow is a version of a profile that decides about the same tickets as the live one, and commits nothing. A ticket
// that the shadow has matched is no longer its candidate; all tickets leave with the live matches. A shadow joins no
// open matches.
type shadow struct {
	version         int
	profile         *profile.Profile
	decider         *decider      // nil: this release cannot run the version
	timeCredit      time.Duration // how long it may decide now
	creditedAt      time.Time     // when the credit was last increased, by this machine's clock
	unstoredMatches db.ShadowMatches
	countBySide     map[string]int // how many unstoredMatches are of a side, "live" or "shadow"
}

const (
	// shadowShare bounds the shadow of a profile to a fifth of this worker's time.
	shadowShare = 5
	// shadowCredit bounds the time that a shadow saves up, and so its turn.
	shadowCredit = 20 * time.Millisecond
	// shadowLeast is the credit with which a turn begins.
	shadowLeast = 2 * time.Millisecond
	// shadowEffort is how many nodes a shadow searches between two readings of the clock, about a millisecond.
	shadowEffort = 2048
	// shadowPause is how long a shadow without credit waits.
	shadowPause = 20 * time.Millisecond
	// shadowMatches is how many matches of a side are recorded between two calls of putShadows, some per second; further
	// ones are left out. It also bounds the matches of a turn.
	shadowMatches = 100
)

// compares reports whether the shadow compares these two versions. A comparison is of one shadow with one live version:
// when either changes, another one begins. A nil shadow compares none.
func (s *shadow) compares(live, version int) bool {
	return s != nil && s.version == version && s.unstoredMatches.LiveVersion == live
}

// learnChange passes a change on to the shadow. A nil shadow ignores it.
func (s *shadow) learnChange(c change) {
	if s != nil && s.decider != nil {
		s.decider.putChange(c)
	}
}

// nextDecision returns when a shadow may have something to decide, by this machine's clock; the database's is dbAhead of
// it. ok is false if it has nothing to decide, or while a turn of it runs.
func (s *shadow) nextDecision(dbAhead time.Duration) (at time.Time, ok bool) {
	if s == nil || s.decider == nil || s.decider.isRunning {
		return at, false
	}
	// It has work and does not run: it lacks credit, or its game regions are not known.
	if s.decider.isUnfinished || len(s.decider.queuedChanges) > 0 {
		return time.Now().Add(shadowPause), true
	}
	return s.decider.nextAt.Add(-dbAhead), s.decider.hasNext
}

// setRegions passes the current game regions to the shadow. A nil shadow ignores them.
func (s *shadow) setRegions(h hosts, at time.Time) {
	if s != nil && s.decider != nil {
		s.learnChange(change{moment: at, kind: regionsChanged, regions: h.regionsOf(s.profile)})
	}
}

// updateRegions passes the current game regions to the shadow, unless they are as before. A nil shadow ignores them.
func (s *shadow) updateRegions(before, now hosts, at time.Time) {
	// A change would make the engine search anew.
	if s != nil && s.decider != nil && !slices.Equal(before.regionsOf(s.profile), now.regionsOf(s.profile)) {
		s.setRegions(now, at)
	}
}

// recordMatch keeps a match of a side for the comparison, except one that lets newcomers join an open match. A nil
// shadow keeps none.
func (s *shadow) recordMatch(side string, p *profile.Profile, found *decide.Proposal, at time.Time) {
	if s == nil || s.decider == nil || found.Session != "" || s.countBySide[side] >= shadowMatches {
		return
	}
	s.countBySide[side]++
	measures, _ := json.Marshal(measuresOf(p, found)) // finite numbers always encode
	s.unstoredMatches.Sides = append(s.unstoredMatches.Sides, side)
	s.unstoredMatches.DecidedAt = append(s.unstoredMatches.DecidedAt, at)
	s.unstoredMatches.Measures = append(s.unstoredMatches.Measures, string(measures))
}

// measuresOf returns the measures of a match for a comparison: the values of its rules, its latency and its fill.
func measuresOf(p *profile.Profile, found *decide.Proposal) map[string]float64 {
	players, seats := 0, 0
	for _, t := range found.Teams {
		players += len(t.Seats)
	}
	for _, t := range p.Teams {
		seats += t.Max
	}
	m := map[string]float64{"players": float64(players), "fill": float64(players) / float64(max(1, seats))}
	for _, r := range found.Rules {
		// A rule that a step has ended has no value.
		if r.Text != "ended" {
			m[r.ID] = r.Value
		}
	}
	if len(found.Regions) > 0 && found.Regions[0].Measured {
		m["latency_ms"] = float64(found.Regions[0].Worst)
	}
	return m
}

// ownModes returns the modes of the shadow's version; a nil shadow has none.
func (s *shadow) ownModes() []string {
	if s == nil || s.decider == nil {
		return nil
	}
	return s.profile.Modes
}
