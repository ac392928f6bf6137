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

func (m *maker) drawShare(shares []Share) Share {
	total := 0.0
	for _, s := range shares {
		total += s.Weight
	}
	x := float64(m.random.Float64() * total)
	for _, s := range shares {
		if x -= s.Weight; x < 0 {
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

// Friends differ less from each other than strangers do.
const withinParty = 0.3

// party is how good the players of a ticket are, in standard deviations above the mean.
type party struct {
	skillLevel float64
	ownLevels  map[string]float64 // in the numbers that have a distribution of their own
}

func (m *maker) drawParty() party {
	p := party{skillLevel: m.drawLevel()}
	// Most options have none: no map for each ticket.
	if len(m.options.Numbers) > 0 {
		p.ownLevels = map[string]float64{}
	}
	for _, name := range m.drawnFields.sortedNames { // in order: a map's is another each time
		if _, ok := m.options.Numbers[name]; ok {
			p.ownLevels[name] = m.random.NormFloat64()
		}
	}
	return p
}

// drawNumber draws a number of a player of a party.
func (m *maker) drawNumber(name string, of party) float64 {
	apart := float64(withinParty * m.random.NormFloat64())
	if d, ok := m.options.Numbers[name]; ok {
		// Divided by the deviation of the sum, so that all players together have the distribution that was asked for.
		return d.valueAt((of.ownLevels[name] + apart) / math.Hypot(1, withinParty))
	}
	if name == m.options.Profile.Priority.Attribute {
		return 0 // unless somebody says whose turn comes earlier
	}
	return math.Round(m.options.Skill.Mean + float64(m.options.Skill.Deviation*(of.skillLevel+apart)))
}
