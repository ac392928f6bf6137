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
	group := m.drawParty()
	for i := range m.drawShare(m.sizeShares).Size {
		// The strongest source, so that no declaration of the profile refuses a made-up value.
		p := match.Player{Sub: fmt.Sprintf("p%09d-%02d", m.ticketCount, i), Attributes: match.Attributes{},
			Source: match.FromBackend}
		m.drawnFields.fillAttributes(m, p.Attributes, group)
		t.Players = append(t.Players, p)
	}
	if len(m.options.Regions) > 0 {
		t.Latencies = m.drawLatencies()
	}
	a := replay.Arrival{Ticket: t, SeenAt: at, LeftAt: at.Add(m.options.Profile.TTL), Why: replay.Quit}
	if m.options.Patience > 0 {
		// Nobody waits for longer than the ttl. Computed in floats, since a Duration cannot hold every product.
		waits := min(float64(m.options.Profile.TTL), m.random.ExpFloat64()*float64(m.options.Patience))
		a.LeftAt = at.Add(time.Duration(waits))
	}
	return a
}

// Latencies in milliseconds: to the nearest region, and for each further region.
const (
	nearMillis = 25
	hopMillis  = 70
)

// drawLatencies draws where a party is, and how far it is from each region. Regions are neighbours in the order in
// which they are given, around the globe.
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
		hops = min(hops, len(m.options.Regions)-hops) // the shorter way around the globe
		ms := float64(nearMillis*line) + float64(float64(hops)*hopMillis*(0.9+float64(0.2*m.random.Float64())))
		out[r.Name] = uint16(min(match.MaxLatency, max(1, ms)))
	}
	return out
}
