package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide/decidetest"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// satisfies reports whether a match would be valid if a preference were a rule.
func satisfies(p *profile.Profile, preference profile.Rule, m verify.Match) bool {
	strict := *p
	strict.Rules = append(slices.Clone(p.Rules), preference)
	return len(verify.Check(&strict, m, verifytest.Now)) == 0
}

// Pins a preference that is said to hold in the best region and does not, or the other way round.
func TestPreferencesHoldAsReported(t *testing.T) {
	t.Parallel()
	held := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		s := scene{p: verifytest.Profiles().Draw(t, "profile"), tickets: verifytest.Tickets(12).Draw(t, "tickets")}
		s.decide(rapid.Uint64().Draw(t, "seed"))
		for _, m := range s.out.Proposals {
			require.Len(t, m.Preferences, len(s.p.Prefer))
			for i, preference := range s.p.Prefer {
				found := decidetest.Match(m, s.tickets)
				found.Region = m.Regions[0].Name
				require.Equal(t, satisfies(s.p, preference.Rule, found), m.Preferences[i].Holds, "%v of %v", preference, m)
				held[m.Preferences[i].Holds]++
			}
		}
	})
	require.Positive(t, held[true])
	require.Positive(t, held[false])
}

// Pins a match that is made although another one, with the same anchor, satisfies more of what the profile prefers.
func TestTheMatchThatIsPreferredIsMade(t *testing.T) {
	t.Parallel()
	chosen := 0
	rapid.Check(t, func(t *rapid.T) {
		p := &profile.Profile{Name: verifytest.Name, TTL: time.Hour, Pool: &match.Pool{}, Teams: []profile.Team{
			{Name: "r", Min: 1, Max: 1, Step: 1}, {Name: "s", Min: 1, Max: 1, Step: 1},
		}}
		soft := func(id string, r profile.Rule) {
			r.ID, r.Missing.Pass, r.Limits.Spread = id, true, profile.NoSpread
			p.Prefer = append(p.Prefer, profile.Preference{Rule: r, Weight: float64(rapid.IntRange(1, 4).Draw(t, id))})
		}
		p.Rules = []profile.Rule{{ID: "near", Kind: profile.Near, Attribute: "skill", Missing: profile.Missing{Pass: true}, Limits: profile.Limits{Within: 3}}}
		soft("clan", profile.Rule{Kind: profile.Same, Attribute: "clan"})
		soft("maps", profile.Rule{Kind: profile.Common, Attribute: "maps", Limits: profile.Limits{AtLeast: 1}})
		soft("level", profile.Rule{Kind: profile.Near, Attribute: "level", Limits: profile.Limits{Within: 1}})
		soft("latency", profile.Rule{Kind: profile.Latency, Limits: profile.Limits{Latency: 30 * time.Millisecond}})
		s := scene{p: p, tickets: verifytest.Tickets(8).Draw(t, "tickets")}
		s.decide(1)
		best, matches := preferredWeights(s.p, s.tickets, s.anchor())
		if matches == 0 {
			require.Empty(t, s.out.Proposals)
			return
		}
		weight := 0.0
		for _, preference := range s.out.Proposals[0].Preferences {
			if preference.Holds {
				weight += preference.Weight
			}
		}
		require.InDelta(t, best, weight, 1e-9, "of %d matches", matches)
		if matches > 1 && best > 0 {
			chosen++
		}
	})
	require.Positive(t, chosen)
}

// anchor returns the anchor of the first match; "" without one.
func (s *scene) anchor() string {
	if len(s.out.Proposals) == 0 {
		return ""
	}
	return s.out.Proposals[0].Anchor
}

// preferredWeights tries all pairs with the anchor, or all pairs without one, and returns the greatest weight and how
// many are valid.
func preferredWeights(p *profile.Profile, tickets []match.Ticket, anchor string) (best float64, matches int) {
	for i, a := range tickets {
		for j, b := range tickets {
			if i == j || anchor != "" && a.ID != anchor || len(a.Players)+len(b.Players) != 2 {
				continue
			}
			m := verify.Match{Tickets: []match.Ticket{a, b}, Seats: []verify.Seat{
				{Ticket: a.ID, Sub: a.Players[0].Sub, Team: "r"}, {Ticket: b.ID, Sub: b.Players[0].Sub, Team: "s"},
			}}
			if weight, valid := weightOf(p, m); valid {
				best, matches = max(best, weight), matches+1
			}
		}
	}
	return best, matches
}

// weightOf returns what the preferences weigh that a match satisfies, in the best region.
func weightOf(p *profile.Profile, m verify.Match) (best float64, valid bool) {
	for _, m.Region = range allRegions {
		if len(verify.Check(p, m, verifytest.Now)) > 0 {
			continue
		}
		weight := 0.0
		for _, preference := range p.Prefer {
			if satisfies(p, preference.Rule, m) {
				weight += preference.Weight
			}
		}
		best, valid = max(best, weight), true
	}
	return best, valid
}
