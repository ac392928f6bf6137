// Package decidetest shows proposals to the checker of package verify, for tests outside of package decide.
package decidetest

import (
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
)

// Match is a proposal as the checker sees it, without a region and a mode. The tickets are all that waited.
func Match(m decide.Proposal, tickets []match.Ticket) verify.Match {
	checked := verify.Match{Chosen: m.Chosen}
	for _, t := range tickets {
		if slices.Contains(m.Tickets, t.ID) {
			checked.Tickets = append(checked.Tickets, t)
		}
	}
	for _, team := range m.Teams {
		for _, s := range team.Seats {
			checked.Seats = append(checked.Seats, verify.Seat{Ticket: s.Ticket, Sub: s.Sub, Team: team.Name, Role: s.Role})
		}
	}
	return checked
}

// Violations is what is wrong with a match, in each region and mode that its proposal offers, and without any.
func Violations(p *profile.Profile, m decide.Proposal, checked verify.Match, now time.Time) (all []verify.Violation) {
	regions := []string{""}
	for _, r := range m.Regions {
		regions = append(regions, r.Name)
	}
	for _, checked.Region = range regions {
		for _, checked.Mode = range append([]string{""}, m.Modes...) {
			all = append(all, verify.Check(p, checked, now)...)
		}
	}
	return all
}
