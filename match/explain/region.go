package explain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Hosts has the free seats of the instance with the most, by game region and mode.
type Hosts map[string]map[string]int

// regionsOf returns the regions that the ticket measured and those that have hosts of the profile: the nearest first.
func regionsOf(p *profile.Profile, t *match.Ticket, hosts Hosts, now time.Time) []Region {
	// Matches of a profile without modes have no seats, and need no region.
	if len(p.Modes) == 0 {
		return nil
	}
	names := map[string]bool{} // a region may be measured and have hosts
	for name := range t.Latencies {
		names[name] = true
	}
	for name, modes := range hosts {
		if slices.ContainsFunc(p.Modes, func(m string) bool { _, ok := modes[m]; return ok }) {
			names[name] = true
		}
	}
	var all []Region
	for _, name := range slices.Sorted(maps.Keys(names)) {
		all = append(all, regionOf(name, p, t, hosts[name], now))
	}
	slices.SortStableFunc(all, func(a, b Region) int { return cmp.Compare(orFar(a.MS), orFar(b.MS)) })
	return all
}

// orFar returns a latency, or for a region that was not measured more than any latency, which has 16 bits.
func orFar(ms *int) int {
	if ms == nil {
		return 1 << 16
	}
	return *ms
}

// regionOf returns what a region has for the ticket, and why no match can be there.
func regionOf(name string, p *profile.Profile, t *match.Ticket, modes map[string]int, now time.Time) Region {
	r := Region{Region: name}
	if ms, ok := t.Latencies[name]; ok {
		n := int(ms)
		r.MS = &n
	}
	isOffered := false // a host has a mode of the profile
	for _, m := range p.Modes {
		free, ok := modes[m]
		isOffered = isOffered || ok
		r.Room = max(r.Room, free)
	}
	var why []string
	for _, rule := range p.Rules {
		if text := tooFar(rule, t, r.MS, now); text != "" {
			why = append(why, text)
		}
	}
	size := sizeOf(p)
	switch {
	case !isOffered:
		why = append(why, "no host of mode "+joinWords(p.Modes, "or"))
	case r.Room < size:
		why = append(why, fmt.Sprintf("no host of mode %s has %d free seats", joinWords(p.Modes, "or"), size))
	}
	r.Refused = strings.Join(why, "; ")
	return r
}

// tooFar returns in words how the ticket alone breaks a latency rule in a region; empty if it does not.
func tooFar(r profile.Rule, t *match.Ticket, ms *int, now time.Time) string {
	// Whether the ticket fills a role is not known before it has a match.
	if r.Kind != profile.Latency || r.Role != "" || len(t.Latencies) == 0 {
		return ""
	}
	limits := r.Limits
	for _, s := range r.Widen {
		if effectiveAt(t, s.AfterWait, now) == nil {
			limits = s.Limits
		}
	}
	if limits.Ended {
		return ""
	}
	// A rule that takes the mean needs every latency, too.
	if ms == nil {
		return "not measured, which rule " + r.ID + " needs"
	}
	// A mean depends on the others in the match: one ticket alone does not break such a rule.
	if most := *inMilliseconds(limits.Latency); !r.TakeMean && float64(*ms) > most {
		return fmt.Sprintf("rule %s allows %s ms", r.ID, formatNumber(most))
	}
	return ""
}

// sizeOf returns the number of seats of the profile's sessions.
func sizeOf(p *profile.Profile) int {
	n := 0
	for _, t := range p.Teams {
		n += t.Max
	}
	return n
}

// joinWords joins a list for a sentence: "a, b or c".
func joinWords(all []string, last string) string {
	if len(all) < 2 {
		return strings.Join(all, "")
	}
	return strings.Join(all[:len(all)-1], ", ") + " " + last + " " + all[len(all)-1]
}
