package decide

import (
	"math"
	"slices"

	"github.com/lattice-director/director/match"
)

// lacks returns why a ticket can be in no match of the profile, as far as it depends on the ticket alone.
func (pl *plan) lacks(t *match.Ticket) []Lack {
	var lacks []Lack
	p := pl.profile
	if len(t.Players) == 0 {
		lacks = append(lacks, Lack{Why: LacksPlayer})
	}
	asked := slices.Contains(t.Profiles, p.Name) || len(t.Profiles) == 0 && p.Pool != nil
	if !asked || p.Pool != nil && !p.Pool.Holds(t.Fields) {
		lacks = append(lacks, Lack{Why: LacksPool})
	}
	if len(t.Players) > pl.largestParty() {
		lacks = append(lacks, Lack{Why: LacksRoom})
	}
	if len(p.Modes) > 0 && pl.modesOf(t) == 0 {
		lacks = append(lacks, Lack{Why: LacksMode})
	}
	for _, r := range pl.rules {
		if l, ok := r.condition.(*latency); ok && l.required() && len(t.Latencies) == 0 && !r.ends() {
			lacks = append(lacks, Lack{Why: LacksLatency, Rule: r.id})
		}
	}
	return pl.lackedColumns(t, lacks)
}

func (pl *plan) lackedColumns(t *match.Ticket, lacks []Lack) []Lack {
	for kind, columns := range [][]column{pl.numbers, pl.atoms, pl.lists} {
		for i := range columns {
			c := &columns[i]
			if c.optional || c.role != anyRole {
				continue
			}
			for j := range t.Players {
				if !pl.comparable(c, kind, &t.Players[j]) {
					lacks = append(lacks, Lack{Why: LacksAttribute, Attribute: c.attribute, Rule: c.rule, Sub: t.Players[j].Sub})
					break
				}
			}
		}
	}
	return lacks
}

func (pl *plan) comparable(c *column, kind int, p *match.Player) bool {
	switch kind {
	case 0:
		return !math.IsNaN(pl.numberOf(c, p))
	case 1:
		return pl.atomOf(c, p) != atom{}
	}
	return pl.listOf(c, p) != nil
}

// largestParty returns the players of the largest party that has a place.
func (pl *plan) largestParty() int {
	switch {
	case pl.profile.Function != nil:
		return math.MaxInt // the function decides
	case pl.split:
		return pl.most
	}
	largest := 0
	for i := range pl.teams {
		largest = max(largest, pl.teams[i].spec.Max)
	}
	return largest
}
