package simulate

import (
	"fmt"
	"math"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/replay"
)

// makeArrival makes the ticket that arrives at a moment.
func (m *maker) makeArrival(at time.Time) replay.Arrival {
	m.ticketCount++
	t := &match.Ticket{ID: fmt.Sprintf("t%09d", m.ticketCount), Created: at, Profiles: []string{m.options.Profile.Name}}
	t.Fields = m.drawnFields.poolFields
	t.Fields.Created = match.MomentOf(at)
	of := m.drawParty()
	for i := range m.drawShare(m.sizeShares).Size {
		p := match.Player{Sub: fmt.Sprintf("p%09d-%02d", m.ticketCount, i), Attributes: match.Attributes{},
			Source: match.FromBackend}
		m.drawnFields.fillAttributes(m, p.Attributes, of)
		t.Players = append(t.Players, p)
	}
	if len(m.options.Regions) > 0 {
		t.Latencies = m.drawLatencies()
	}
	a := replay.Arrival{Ticket: t, SeenAt: at, LeftAt: at.Add(m.options.Profile.TTL), Why: replay.Quit}
	if m.options.Patience > 0 {
		a.LeftAt = at.Add(min(m.options.Profile.TTL, time.Duration(m.random.ExpFloat64()*float64(m.options.Patience))))
	}
	return a
}

func (m *maker) drawShare(shares []Share) Share {
	total := 0.0
	for _, s := range shares {
		total += s.Weight
	}
	x := m.random.Float64() * total
	for _, s := range shares {
		if x -= s.Weight; x < 0 {
			return s
		}
	}
	return shares[len(shares)-1]
}

// drawLevel draws how good the players of a party are, in deviations from the mean.
func (m *maker) drawLevel() float64 {
	x := m.random.NormFloat64()
	if !m.options.Skill.Bimodal {
		return x
	}
	if m.random.IntN(2) == 0 {
		return x/2 - 1
	}
	return x/2 + 1
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
	apart := withinParty * m.random.NormFloat64()
	if d, ok := m.options.Numbers[name]; ok {
		return d.valueAt((of.ownLevels[name] + apart) / math.Hypot(1, withinParty))
	}
	if name == m.options.Profile.Priority.Attribute {
		return 0 // unless somebody says whose turn comes earlier
	}
	return math.Round(m.options.Skill.Mean + m.options.Skill.Deviation*(of.skillLevel+apart))
}

// Latencies in milliseconds: to the nearest region, and for each further region.
const (
	nearMillis = 25
	hopMillis  = 70
)

// drawLatencies draws where a party is, and how far it is from each region. Regions are neighbours in the order in which
// they are given, around the globe.
func (m *maker) drawLatencies() map[string]uint16 {
	home := m.drawShare(m.options.Regions).Name
	at := 0
	for i, r := range m.options.Regions {
		if r.Name == home {
			at = i
		}
	}
	out := make(map[string]uint16, len(m.options.Regions))
	line := math.Exp(0.5 * m.random.NormFloat64()) // the quality of the party's connection
	for i, r := range m.options.Regions {
		hops := max(i-at, at-i)
		hops = min(hops, len(m.options.Regions)-hops)
		ms := nearMillis*line + float64(hops)*hopMillis*(0.9+0.2*m.random.Float64())
		out[r.Name] = uint16(min(10_000, max(1, ms)))
	}
	return out
}
