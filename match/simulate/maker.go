package simulate

import (
	"math"
	"math/rand/v2"
	"slices"
)

// maker makes tickets one after the other.
type maker struct {
	options Options

	random      *rand.Rand
	sizeShares  []Share
	drawnFields fields
	ticketCount int
}

// drawShare draws one of some shares, by their weights.
func (m *maker) drawShare(shares []Share) Share {
	total := 0.0
	for _, s := range shares {
		total += s.Weight
	}
	x := float64(m.random.Float64() * total)
	for _, s := range shares {
		x -= s.Weight
		if x < 0 {
			return s
		}
	}
	return shares[len(shares)-1] // where rounding has left a little of x
}

// drawSome draws at most so many different words.
func (m *maker) drawSome(shares []Share, most int) (list []string) {
	for left := slices.Clone(shares); len(list) < most && len(left) > 0; {
		word := m.drawShare(left).Name
		list = append(list, word)
		left = slices.DeleteFunc(left, func(s Share) bool { return s.Name == word })
	}
	return list
}

// drawLevel draws how good the players of a party are, in deviations from the mean.
func (m *maker) drawLevel() float64 {
	x := m.random.NormFloat64()
	if !m.options.Skill.Bimodal {
		return x
	}
	// Half of the deviation around each of the two means: see Skill.Bimodal.
	if m.random.IntN(2) == 0 {
		return float64(x/2) - 1
	}
	return float64(x/2) + 1
}

// withinParty is the standard deviation of the players of a party from its level: friends differ less from each other
// than strangers do.
const withinParty = 0.3

// party is how good the players of a ticket are, in standard deviations above the mean.
type party struct {
	skillLevel float64
	ownLevels  map[string]float64 // by name of a number that has a distribution of its own
}

// drawParty draws how good the players of a ticket are.
func (m *maker) drawParty() party {
	p := party{skillLevel: m.drawLevel()}
	// Most options have no such numbers, and need no map for each ticket.
	if len(m.options.Numbers) > 0 {
		p.ownLevels = map[string]float64{}
	}
	// In the order of names, since that of a map is random.
	for _, name := range m.drawnFields.sortedNames {
		if _, ok := m.options.Numbers[name]; ok {
			p.ownLevels[name] = m.random.NormFloat64()
		}
	}
	return p
}

// drawNumber draws a number of a player of a party.
func (m *maker) drawNumber(name string, group party) float64 {
	apart := float64(withinParty * m.random.NormFloat64())
	if d, ok := m.options.Numbers[name]; ok {
		// Divided by the deviation of the sum, so that all players together have the distribution that was asked for.
		return d.valueAt((group.ownLevels[name] + apart) / math.Hypot(1, withinParty))
	}
	// Nobody's turn comes earlier unless the options have a distribution for it.
	if name == m.options.Profile.Priority.Attribute {
		return 0
	}
	return math.Round(m.options.Skill.Mean + float64(m.options.Skill.Deviation*(group.skillLevel+apart)))
}
