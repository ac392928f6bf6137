package db

import (
	"context"
	"math"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// boundLatencies bounds what sessions and rooms say of their latencies by what is known of their players, where a
// profile asks for it. Requests come with latencies that are bounded.
func (t *queueTurn) boundLatencies(ctx context.Context, parties []*party) error {
	jumps := map[*party]uint16{} // in ms
	var subs []string
	for _, p := range parties {
		if p.judgedTicket == nil || len(p.lobbyQueue.Latencies) == 0 {
			continue
		}
		judge := t.profilesByName[p.request.ProfileNames[0]]
		// A profile that is unknown, or that this release cannot read, bounds nothing.
		if judge == nil {
			continue
		}
		// 0: the profile does not bound by how much latencies jump.
		if jump := profile.LeastLatencyJump([]*profile.Profile{judge}); jump > 0 {
			jumps[p], subs = jump, append(subs, p.request.Party...)
		}
	}
	if len(jumps) == 0 {
		return nil
	}
	known, err := knownLatencies(ctx, t.q, t.universe, subs)
	if err != nil {
		return err
	}
	for p, jump := range jumps {
		if err := p.bound(t.store.cfg.Queueing, known, jump); err != nil {
			return err
		}
	}
	return nil
}

// bound encodes the ticket of the party again, with latencies that differ from those known of its players by at most
// jump ms.
func (p *party) bound(q *Queueing, all PlayerLatencies, jump uint16) error {
	said := make(map[string]uint16, len(p.lobbyQueue.Latencies))
	for region, ms := range p.lobbyQueue.Latencies {
		said[region] = uint16(math.Round(ms))
	}
	var known []map[string]uint16
	for _, sub := range p.request.Party {
		known = append(known, all[sub])
	}
	counted, claimed := match.SteadyLatencies(said, known, jump)
	draft := p.queueDraft
	draft.ClaimedLatencies, draft.LobbyQueue.Latencies = claimed, make(map[string]float64, len(counted))
	for region, ms := range counted {
		draft.LobbyQueue.Latencies[region] = float64(ms)
	}
	// Latencies are remembered of single players; those of a party are of all its members together.
	if len(p.request.Party) == 1 {
		p.request.CallerLatencies = match.RememberedLatencies(known[0], counted)
	}
	return p.encode(q, draft)
}
