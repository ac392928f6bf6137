package decide

import (
	"slices"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Completer completes matches whose tickets a profile's match function has chosen: it adds modes, regions and teams. It
// is not safe for concurrent use.
type Completer struct{ plan *plan }

// NewCompleter returns the completer of a profile with a match function.
func NewCompleter(p *profile.Profile) *Completer {
	pl := newPlan(p)
	pl.limitsLatency = true // the best region is the one with the lowest worst latency
	return &Completer{plan: pl}
}

// Candidate reports whether a ticket may be in a match of the profile, and if not, everything that it lacks.
func (k *Completer) Candidate(t *match.Ticket) (ok bool, why []Lack) {
	why = k.plan.findLacks(t)
	return len(why) == 0, why
}

// Proposal completes a match of distinct candidates: its modes are those that all tickets allow, its regions are in the
// order of latencies. team is the team of each ticket, by id; players of a ticket without a team have none.
func (k *Completer) Proposal(tickets []*match.Ticket, team map[string]string, regions []Region) Proposal {
	set := newRegionSet(regions)
	var l lineup
	l.resetTo(0, everywhere, 0) // no rule is judged: no age matters
	for _, t := range tickets {
		l.pushPick(k.plan.newCandidate(t, &set))
	}
	// The numbers of the players are not valid after this: modes and regions look at the picks alone.
	slices.SortFunc(l.picks, byAge)
	p := Proposal{Anchor: l.picks[0].ticket.ID, Regions: set.rankRegions(everywhere, &l, k.plan),
		Modes: k.plan.modeNames(l.commonModes())}
	for _, c := range l.picks {
		p.Tickets = append(p.Tickets, c.ticket.ID)
		p.seatTicket(c.ticket, team[c.ticket.ID])
	}
	return p
}

// seatTicket adds the players of a ticket to a team, which may be a new one.
func (p *Proposal) seatTicket(t *match.Ticket, team string) {
	i := slices.IndexFunc(p.Teams, func(o Team) bool { return o.Name == team })
	if i < 0 {
		i = len(p.Teams)
		p.Teams = append(p.Teams, Team{Name: team})
	}
	for _, player := range t.Players {
		p.Teams[i].Seats = append(p.Teams[i].Seats, Seat{Ticket: t.ID, Sub: player.Sub})
	}
}
