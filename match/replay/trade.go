package replay

import (
	"math"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// tradeSums adds up what players pay by the profile's trades: with waiting, and with the quality of their match.
type tradeSums struct {
	trades         []profile.Trade
	playerCount    int
	waitingSeconds float64   // summed over players
	paidByTrade    []float64 // by trade, summed over players
}

func newTradeSums(p *profile.Profile) tradeSums {
	return tradeSums{trades: p.Trade, paidByTrade: make([]float64, len(p.Trade))}
}

// addWaiting counts the waiting of a ticket until it was matched or left.
func (s *tradeSums) addWaiting(t *match.Ticket, until time.Time) {
	s.playerCount += len(t.Players)
	s.waitingSeconds += float64(float64(len(t.Players)) * max(0, until.Sub(t.Created).Seconds()))
}

// countMatch counts what a match costs, and returns it in seconds a player.
func (s *tradeSums) countMatch(p *proposal) (seconds float64) {
	players := 0
	for _, w := range p.tickets {
		players += len(w.queuedArrival.Ticket.Players)
	}
	for i, t := range p.decision.Traded {
		s.paidByTrade[i] += float64(t.Value * float64(players))
		seconds = float64(seconds + t.Value/t.PerSecond)
	}
	return seconds
}

// costSummary returns the averages for a report; nil: nothing is traded, or nobody came.
func (s *tradeSums) costSummary() *TradeCost {
	if len(s.trades) == 0 || s.playerCount == 0 {
		return nil
	}
	players := float64(s.playerCount)
	cost := TradeCost{Players: s.playerCount, Waiting: roundNumber(s.waitingSeconds / players)}
	total := s.waitingSeconds / players
	for i, t := range s.trades {
		seconds := s.paidByTrade[i] / t.PerSecond / players
		total = float64(total + seconds)
		cost.Parts = append(cost.Parts, TradePart{Of: t.Key(), PerSecond: t.PerSecond,
			Value: roundNumber(s.paidByTrade[i] / players), Seconds: roundNumber(seconds)})
	}
	cost.Total = roundNumber(total)
	return &cost
}

// pastMatch has the numbers of a recorded match whose tickets are still arriving.
type pastMatch struct {
	ticketsSeen    int
	numbersByTrade [][]float64 // by trade, of the players that have one
}

// pastTrades computes what recorded matches cost by the profile's trades. It knows neither their teams' values nor the
// latencies to their game region, so it needs trades of attributes alone.
type pastTrades struct {
	profile     *profile.Profile
	openMatches map[string]*pastMatch // matches of which not all tickets have arrived
}

// newPastTrades returns nil if the profile trades latency or balance.
func newPastTrades(p *profile.Profile) *pastTrades {
	for _, t := range p.Trade {
		if t.Quality != profile.OfAttribute {
			return nil
		}
	}
	return &pastTrades{profile: p, openMatches: map[string]*pastMatch{}}
}

// addTicket adds a ticket of a recorded match, and the cost of the match once it has all tickets.
func (p *pastTrades) addTicket(a *Arrival, sums *tradeSums) {
	m := p.openMatches[a.Recorded.Match]
	if m == nil {
		m = &pastMatch{numbersByTrade: make([][]float64, len(sums.trades))}
		p.openMatches[a.Recorded.Match] = m
	}
	for i, t := range sums.trades {
		for k := range a.Ticket.Players {
			if x, ok := numberOf(p.profile, &a.Ticket.Players[k], t.Attribute); ok {
				m.numbersByTrade[i] = append(m.numbersByTrade[i], x)
			}
		}
	}
	m.ticketsSeen++
	// The mean is known when all tickets of the match have arrived.
	if m.ticketsSeen < a.Recorded.Tickets {
		return
	}
	// Memory must not grow with the number of matches.
	delete(p.openMatches, a.Recorded.Match)
	for i, numbers := range m.numbersByTrade {
		sums.paidByTrade[i] = float64(sums.paidByTrade[i] + meanDistances(numbers))
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

// meanDistances returns the sum of the distances from the mean.
func meanDistances(numbers []float64) (total float64) {
	mean := 0.0
	for _, x := range numbers {
		mean = float64(mean + x/float64(len(numbers)))
	}
	for _, x := range numbers {
		total = float64(total + math.Abs(x-mean))
	}
	return total
}
