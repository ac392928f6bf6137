package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// Pins an admission that refuses a ticket which a search matches at some moment: the exhaustive search of this package,
// and the engine's, whose matches also join running ones. An admission that refuses nothing, or searches that find
// nothing, fail as well.
func TestAdmissionRefusesNoTicketThatASearchMatches(t *testing.T) {
	t.Parallel()
	refused, matched := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		p := verifytest.Profiles().Draw(t, "profile")
		tickets := verifytest.Tickets(6).Draw(t, "tickets")
		never := map[string]bool{}
		for i := range tickets {
			if len(decide.NeverMatches(p, &tickets[i])) > 0 {
				never[tickets[i].ID] = true
				refused++
			}
		}
		for _, after := range []time.Duration{0, time.Minute, time.Hour} {
			for _, id := range searched(p, tickets, verifytest.Now.Add(after)) {
				matched++
				require.False(t, never[id], "%s is in a match after %s: %s", id, after, p.Canonical())
			}
		}
	})
	require.Positive(t, refused)
	require.Positive(t, matched)
}

// searched returns the tickets that searches match at a moment: all of them together, each pair, and as the engine
// decides.
func searched(p *profile.Profile, tickets []match.Ticket, now time.Time) (ids []string) {
	add := func(of []match.Ticket) {
		if m, ok := verify.Find(p, of, nil, now); ok {
			for _, t := range m.Tickets {
				ids = append(ids, t.ID)
			}
		}
	}
	add(tickets)
	for i := range tickets {
		add(slices.Concat(tickets[i:], tickets[:i])[:min(len(tickets), 4)])
	}
	in := decide.Input{Version: decide.Version{Profile: p, Number: 1}, Now: now, Seed: 1, Regions: rooms}
	for i := range tickets {
		in.Tickets = append(in.Tickets, &tickets[i])
	}
	for _, m := range decide.Decide(in).Proposals {
		ids = append(ids, m.Tickets...)
	}
	return ids
}
