package replay

import (
	"math"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// tradeSums adds up what players pay by the profile's trades: with waiting, and with the quality of their match.
type tradeSums struct {
	trades  []profile.Trade
	players int
	waiting float64   // seconds, summed over players
	paid    []float64 // by trade, summed over players
}

func newTradeSums(p *profile.Profile) tradeSums {
	return tradeSums{trades: p.Trade, paid: make([]float64, len(p.Trade))}
}

// addWaiting counts the waiting of a ticket until it was matched or left.
func (s *tradeSums) addWaiting(t *match.Ticket, until time.Time) {
	s.players += len(t.Players)
	s.waiting = float64(s.waiting + float64(len(t.Players))*max(0, until.Sub(t.Created).Seconds()))
}

// match counts what a match costs, and returns it in seconds a player.
func (s *tradeSums) match(p *proposal) (seconds float64) {
	players := 0
	for _, w := range p.tickets {
		players += len(w.arrival.Ticket.Players)
	}
	for i, t := range p.decision.Traded {
		s.paid[i] = float64(s.paid[i] + t.Value*float64(players))
		seconds = float64(seconds + t.Value/t.PerSecond)
	}
	return seconds
}

func (s *tradeSums) summary() *TradeCost {
	if len(s.trades) == 0 || s.players == 0 {
		return nil
	}
	players := float64(s.players)
	cost := TradeCost{Players: s.players, Waiting: rounded(s.waiting / players)}
	total := s.waiting / players
	for i, t := range s.trades {
		seconds := s.paid[i] / t.PerSecond / players
		total = float64(total + seconds)
		cost.Parts = append(cost.Parts, TradePart{Of: t.Key(), PerSecond: t.PerSecond,
			Value: rounded(s.paid[i] / players), Seconds: rounded(seconds)})
	}
	cost.Total = rounded(total)
	return &cost
}

// pastMatch has the numbers of a recorded match whose tickets are still arriving.
type pastMatch struct {
	tickets int
	numbers [][]float64 // by trade, of the players that have one
}

// pastTrades computes what recorded matches cost by the profile's trades. It knows neither their teams' values nor the
// latencies to their game region, so it needs trades of attributes alone.
type pastTrades struct {
	profile     *profile.Profile
	openMatches map[string]*pastMatch
}

func newPastTrades(p *profile.Profile) *pastTrades {
	for _, t := range p.Trade {
		if t.Quality != profile.OfAttribute {
			return nil
		}
	}
	return &pastTrades{profile: p, openMatches: map[string]*pastMatch{}}
}

// add adds a ticket of a recorded match, and the cost of the match once it has all tickets.
func (p *pastTrades) add(a *Arrival, sums *tradeSums) {
	m := p.openMatches[a.Recorded.Match]
	if m == nil {
		m = &pastMatch{numbers: make([][]float64, len(sums.trades))}
		p.openMatches[a.Recorded.Match] = m
	}
	for i, t := range sums.trades {
		for k := range a.Ticket.Players {
			if x, ok := numberOf(p.profile, &a.Ticket.Players[k], t.Attribute); ok {
				m.numbers[i] = append(m.numbers[i], x)
			}
		}
	}
	if m.tickets++; m.tickets < a.Recorded.Tickets {
		return
	}
	delete(p.openMatches, a.Recorded.Match)
	for i, numbers := range m.numbers {
		sums.paid[i] = float64(sums.paid[i] + distances(numbers))
	}
}

// numberOf returns a player's number, or the profile's default.
func numberOf(p *profile.Profile, player *match.Player, attribute string) (float64, bool) {
	v, ok := player.Attributes[attribute]
	if initial := p.Attributes[attribute].Default; (!ok || v.Kind != match.Number) && initial != nil {
		v, ok = *initial, true
	}
	return v.Number, ok && v.Kind == match.Number
}

// distances returns the sum of the distances from the mean.
func distances(numbers []float64) (total float64) {
	mean := 0.0
	for _, x := range numbers {
		mean = float64(mean + x/float64(len(numbers)))
	}
	for _, x := range numbers {
		total = float64(total + math.Abs(x-mean))
	}
	return total
}
