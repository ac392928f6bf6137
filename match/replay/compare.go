package replay

import "github.com/lattice-director/director/match/decide"

// rememberOutcome counts the recorded outcome of a ticket.
func (r *run) rememberOutcome(a *Arrival) {
	// Simulated tickets have no history to compare with.
	if r.input.Matches == nil {
		return
	}
	r.recordedSums.countArrival(a)
	switch {
	case a.Recorded != nil && r.recordedInstant(a.Recorded).Before(r.input.End):
		r.recordedSums.countMatched(a, r.recordedInstant(a.Recorded))
		if r.pastCosts != nil {
			r.pastCosts.addTicket(a, &r.recordedSums.tradeCosts)
		}
		r.expectMatch(a)
	case a.Recorded == nil && a.Why != Stayed && a.LeftAt.Before(r.input.End):
		r.recordedSums.countLeft(a, a.Why, a.LeftAt)
	// The ticket was not matched and did not leave before the end of the replay: a later outcome does not count.
	default:
		r.recordedSums.countLeft(a, Stayed, r.input.End)
	}
}

// expectMatch counts the recorded match of a ticket, once for all its tickets.
func (r *run) expectMatch(a *Arrival) {
	// One of the tickets of the match counts it for all.
	if !a.Recorded.First {
		return
	}
	r.reproducedCounts.Of++
	if r.hasSameRules(a.Recorded.Version) {
		r.reproducedCounts.SameRules++
		r.recordedSeeds[a.Recorded.Seed] = true
	}
}

// compareMatch counts a match that was recorded alike, or notes that its tickets were matched otherwise.
func (r *run) compareMatch(p *proposal) {
	if !r.recordedAlike(p) {
		for _, w := range p.tickets {
			r.noteDifference(w, p, p.proposedAt)
		}
		return
	}
	r.reproducedCounts.Matches++
	if r.hasSameRules(p.tickets[0].queuedArrival.Recorded.Version) {
		r.reproducedCounts.FromSame++
	}
}

// recordedAlike reports whether a match was recorded with exactly these tickets. Their teams must be equal if both drew
// sides with the same seed.
func (r *run) recordedAlike(p *proposal) bool {
	first := p.tickets[0].queuedArrival.Recorded
	if first == nil || first.Tickets != len(p.tickets) {
		return false
	}
	for _, w := range p.tickets {
		if w.queuedArrival.Recorded == nil || w.queuedArrival.Recorded.Match != first.Match {
			return false
		}
		// Interchangeable teams are drawn by the seed: with another seed, the same match may have them exchanged.
		if first.Seed == r.input.Seed && w.queuedArrival.Recorded.Team != "" &&
			w.queuedArrival.Recorded.Team != teamOf(&p.decision, w.queuedArrival.Ticket.ID) {
			return false
		}
	}
	return true
}

// teamOf returns the first team that a ticket has a seat in.
func teamOf(p *decide.Proposal, ticket string) string {
	for _, t := range p.Teams {
		for _, s := range t.Seats {
			if s.Ticket == ticket {
				return t.Name
			}
		}
	}
	return ""
}
