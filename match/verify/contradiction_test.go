package verify_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// Pins a profile that is refused as contradictory although a match satisfies it.
func TestContradictoryProfilesHaveNoMatch(t *testing.T) {
	t.Parallel()
	refused, satisfied := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := verifytest.Profiles().Draw(t, "profile")
		if len(p.Rules) > 0 && rapid.Bool().Draw(t, "denied") {
			p.Rules = append(p.Rules, verifytest.Denial(rapid.SampledFrom(p.Rules).Draw(t, "rule")))
		}
		_, err := profile.Parse(p.Canonical())
		contradictory := err != nil && strings.Contains(err.Error(), "no match can satisfy this:")
		for range 4 {
			m, found := verify.Find(p, verifytest.Tickets(5).Draw(t, "tickets"), nil, verifytest.Now)
			if found {
				satisfied++
				require.False(t, contradictory, "%s\n%s\n%v", p.Canonical(), err, m)
			}
		}
		if contradictory {
			refused++
		}
	})
	require.Positive(t, refused)
	require.Positive(t, satisfied)
}
