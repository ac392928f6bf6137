package replay

import "github.com/lattice-director/director/match/decide"

// remember counts the recorded outcome of a ticket.
func (r *run) remember(a *Arrival) {
	if r.input.Matches == nil {
		return
	}
	r.recorded.arrived(a)
	switch {
	case a.Recorded != nil && r.instant(a.Recorded).Before(r.input.End):
		r.recorded.matched(a, r.instant(a.Recorded))
		if r.past != nil {
			r.past.add(a, &r.recorded.trade)
		}
		r.expect(a)
	case a.Recorded == nil && a.Why != Stayed && a.LeftAt.Before(r.input.End):
		r.recorded.countLeft(a, a.Why, a.LeftAt)
	default:
		r.recorded.countLeft(a, Stayed, r.input.End)
	}
}

// expect counts the recorded match of a ticket, once for all its tickets.
func (r *run) expect(a *Arrival) {
	if !a.Recorded.First {
		return
	}
	r.reproduced.Of++
	if r.hasSameRules(a.Recorded.Version) {
		r.reproduced.SameRules++
		r.seeds[a.Recorded.Seed] = true
	}
}

func (r *run) hasSameRules(version int) bool {
	return r.input.HasSameRules != nil && r.input.HasSameRules(version)
}

// compare counts a match that was also recorded, and notes a recorded one that it differs from.
func (r *run) compare(p *proposal) {
	if !r.recordedAlike(p) {
		for _, w := range p.tickets {
			r.differ(w, p, p.proposedAt)
		}
		return
	}
	r.reproduced.Matches++
	if r.hasSameRules(p.tickets[0].arrival.Recorded.Version) {
		r.reproduced.FromSame++
	}
}

// recordedAlike reports whether a match was recorded with exactly these tickets. Their teams must be equal if both drew
// sides with the same seed.
func (r *run) recordedAlike(p *proposal) bool {
	first := p.tickets[0].arrival.Recorded
	if first == nil || first.Tickets != len(p.tickets) {
		return false
	}
	for _, w := range p.tickets {
		if w.arrival.Recorded == nil || w.arrival.Recorded.Match != first.Match {
			return false
		}
		// Interchangeable teams are drawn by the seed: with another one, the same match may have them the other way
		// round.
		if first.Seed == r.input.Seed && w.arrival.Recorded.Team != "" &&
			w.arrival.Recorded.Team != teamOf(&p.decision, w.arrival.Ticket.ID) {
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
