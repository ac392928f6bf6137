package play

import (
	"context"

	"github.com/lattice-director/director/internal/matching/ticketbody"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// steadyLatencies returns a copy of a draft whose latencies are bounded by what is known of its players, and what is to
// be remembered of a player without a party. Where no profile asks for it or a backend vouches for the latencies, it
// returns the draft as it is, and nil.
func (f ticketFace) steadyLatencies(ctx context.Context, d ticketbody.Draft,
	profiles []*profile.Profile) (bounded ticketbody.Draft, remember map[string]uint16, err error) {
	jump := profile.LeastLatencyJump(profiles)
	if jump == 0 || len(d.Latencies) == 0 || f.isBackend {
		return d, nil, nil
	}
	party := partyOf(d)
	known, err := f.tickets.Store.KnownLatencies(ctx, f.tickets.Region, party)
	if err != nil {
		return d, nil, err
	}
	// The draft keeps what the client said: explanations show both.
	d.Latencies, d.ClaimedLatencies = match.SteadyLatencies(d.Latencies, known.List(), jump)
	if len(party) == 1 { // those of a party are of the player who is farthest away
		remember = match.RememberedLatencies(known[party[0]], d.Latencies)
	}
	return d, remember, nil
}
