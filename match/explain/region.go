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
	// Once each: a region may be measured and have hosts.
	names := map[string]bool{}
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

// orFar puts regions that were not measured last.
func orFar(ms *int) int {
	if ms == nil {
		// More than any latency, which has 16 bits.
		return 1 << 16
	}
	return *ms
}

// regionOf says what a region has for the ticket, and what speaks against it.
func regionOf(name string, p *profile.Profile, t *match.Ticket, modes map[string]int, now time.Time) Region {
	r := Region{Region: name}
	if ms, ok := t.Latencies[name]; ok {
		n := int(ms)
		r.MS = &n
	}
	offered := false
	for _, m := range p.Modes {
		free, ok := modes[m]
		offered = offered || ok
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
	case !offered:
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
	switch {
	case limits.Ended:
	// Also where the rule takes the mean, which a missing latency cannot be part of.
	case ms == nil:
		return "not measured, which rule " + r.ID + " needs"
	// A mean depends on the others in the match: one ticket alone does not break it.
	case !r.TakeMean && float64(*ms) > *inMilliseconds(limits.Latency):
		return fmt.Sprintf("rule %s allows %s ms", r.ID, formatNumber(*inMilliseconds(limits.Latency)))
	}
	return ""
}

// sizeOf returns the seats of the profile's sessions.
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
