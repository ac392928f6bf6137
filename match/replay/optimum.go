package replay

import (
	"math"
	"time"

	"github.com/lattice-director/director/match/optimum"
	"github.com/lattice-director/director/match/profile"
)

// The bounds of the comparison with the optimum: some seconds of one core, some tens of MiB.
const (
	optimumTickets = optimum.MaxTickets // of a block, which is matched exactly
	optimumBlocks  = 3                  // the most blocks, which are spread evenly over the tickets
	optimumKept    = 200_000            // the most tickets that are kept, the first of the replay
)

// single is a ticket of one player, as the optimum sees it. Times are seconds since the beginning of the replay.
type single struct {
	createdAt, seenAt float64
	leftAt            float64 // +Inf: it would have stayed
	numbers           []float64
	costSeconds       float64 // what it paid, in seconds: its waiting, and half of what its pair costs
}

// singles are the tickets of a replay that pairs tickets of one player; nil: its matches are of another kind.
type singles struct {
	profile      *profile.Profile
	beginsAt     time.Time
	keptArrivals []*single
	byID         map[string]*single // those that wait
	hasMore      bool               // there were more tickets than are kept
}

// newSingles returns nil unless matches are pairs of tickets whose cost is known beforehand.
func newSingles(p *profile.Profile, from time.Time) *singles {
	least, most := 0, 0
	for _, t := range p.Teams {
		least, most = least+t.Min, most+t.Max
	}
	// Of latency and balance, the cost of a pair does not follow from two numbers.
	for _, t := range p.Trade {
		if t.Quality != profile.OfAttribute {
			return nil
		}
	}
	// Larger or smaller matches, and such as a ready check takes back, are no pairs.
	if len(p.Trade) == 0 || least != 2 || most != 2 || len(p.Teams) != 2 || len(p.LeastSteps()) > 0 || p.Accept > 0 {
		return nil
	}
	return &singles{profile: p, beginsAt: from, byID: map[string]*single{}}
}

func (s *singles) secondsAt(at time.Time) float64 { return at.Sub(s.beginsAt).Seconds() }

// addArrival keeps a ticket. Nil singles ignore it.
func (s *singles) addArrival(a *Arrival) {
	if s == nil || s.hasMore || len(a.Ticket.Players) != 1 {
		return
	}
	if len(s.keptArrivals) == optimumKept {
		s.hasMore = true
		return
	}
	one := &single{createdAt: s.secondsAt(a.Ticket.Created), seenAt: s.secondsAt(a.SeenAt), leftAt: math.Inf(1)}
	if a.Why != Stayed {
		one.leftAt = s.secondsAt(a.LeftAt)
	}
	for _, t := range s.profile.Trade {
		x, ok := numberOf(s.profile, &a.Ticket.Players[0], t.Attribute)
		if !ok {
			x = math.NaN() // for which pairCost counts nothing
		}
		one.numbers = append(one.numbers, x)
	}
	s.keptArrivals, s.byID[a.Ticket.ID] = append(s.keptArrivals, one), one
}

// recordPaid sets what a ticket paid that was matched or left at a moment: its waiting, and paid for its match.
func (s *singles) recordPaid(ticket string, at time.Time, paid float64) {
	if s == nil {
		return
	}
	if one := s.byID[ticket]; one != nil {
		one.costSeconds = s.secondsAt(at) - one.createdAt + paid
		delete(s.byID, ticket)
	}
}

// pairCost returns what a pair of tickets costs, in seconds of waiting.
func (s *singles) pairCost(a, b *single) (seconds float64) {
	for i, t := range s.profile.Trade {
		if d := math.Abs(a.numbers[i] - b.numbers[i]); !math.IsNaN(d) {
			// Each is half of the difference away from their mean: together they pay all of it.
			seconds = float64(seconds + d/t.PerSecond)
		}
	}
	return seconds
}

// compareOptimum compares what tickets paid with the least that they could have; nil: there is nothing to compare.
func (s *singles) compareOptimum(end time.Time) *Optimum {
	if s == nil || len(s.keptArrivals) == 0 {
		return nil
	}
	var paid, least float64
	tickets := 0
	blocks := min(optimumBlocks, (len(s.keptArrivals)+optimumTickets-1)/optimumTickets)
	for k := range blocks {
		// Blocks are spread evenly over the time, each with as many tickets as can be matched exactly.
		first := k * len(s.keptArrivals) / blocks
		after := min((k+1)*len(s.keptArrivals)/blocks, first+optimumTickets)
		b := block{singles: s, tickets: s.keptArrivals[first:after], beginSecond: math.Inf(-1),
			endSecond: s.secondsAt(end)}
		if first > 0 {
			b.beginSecond = s.keptArrivals[first].seenAt
		}
		if after < len(s.keptArrivals) {
			b.endSecond = s.keptArrivals[after].seenAt
		}
		tickets += len(b.tickets)
		least = float64(least + b.leastCost())
		for _, one := range b.tickets {
			paid = float64(paid + one.costSeconds)
		}
	}
	// There is no ratio to 0.
	if least <= 0 {
		return nil
	}
	return &Optimum{
		Tickets: tickets, Least: roundNumber(least / float64(tickets)), Paid: roundNumber(paid / float64(tickets)),
		Ratio: roundNumber(paid / least),
	}
}

// block is a part of the tickets, by arrival. So that its least cost is at most what the optimum of all tickets pays for
// the part, a ticket may be paired with one outside the block, for no more than the time until the nearer end of the
// part.
type block struct {
	singles *singles

	tickets                []*single
	beginSecond, endSecond float64
}

// leastCost returns the least that the tickets of the block can pay, in seconds.
func (b *block) leastCost() float64 {
	return optimum.Pairs(len(b.tickets), func(i, j int) float64 {
		x, y := b.tickets[i], b.tickets[j]
		at := max(x.seenAt, y.seenAt)
		// One had left before the other came.
		if at >= min(x.leftAt, y.leftAt) {
			return math.Inf(1)
		}
		// Both wait until the later one is seen.
		return 2*at - x.createdAt - y.createdAt + b.singles.pairCost(x, y)
	}, func(i int) float64 {
		x := b.tickets[i]
		return max(0, min(b.endSecond, x.leftAt, x.seenAt+x.seenAt-b.beginSecond)-x.createdAt)
	})
}
