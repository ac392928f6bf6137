package replay

import (
	"cmp"
	"maps"
	"slices"
	"sort"
	"time"

	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
)

// edges are the ends of the bins of waiting times, in seconds.
var edges = []float64{0.1, 0.5, 1, 2, 5, 10, 15, 20, 30, 45, 60, 90, 120, 180, 300, 600}

// points is the number of parts into which the time of a report is divided.
const points = 60

// sums adds up one side of a report.
type sums struct {
	from         time.Time
	part         time.Duration
	seats        int // of a match
	side         Side
	waitingTimes sketch
	bins         []int
	rules        map[string]*ruleSums
	order        []string // the profile's rules
	pings        sketch
	fill         sketch
	line         [points]pointSums
	trade        tradeSums
	bands        []bandSums // as edges, and one for all others
	spread       string     // the id of the rule whose values bands have; "": none
}

type bandSums struct {
	matches int
	spread  float64
}

type ruleSums struct {
	values sketch
	ended  int
}

type pointSums struct {
	arrived, matched int
	waitingSum       float64
}

func newSums(in *Input) *sums {
	s := &sums{from: in.Begin, part: max(1, in.End.Sub(in.Begin)/points), bins: make([]int, len(edges)+1),
		rules: map[string]*ruleSums{},
		bands: make([]bandSums, len(edges)+1), trade: newTradeSums(in.Version.Profile)}
	for _, r := range in.Version.Profile.Rules {
		s.order = append(s.order, r.ID)
		if s.spread == "" && (r.Kind == profile.Near || r.Kind == profile.Balance) {
			s.spread = r.ID
		}
	}
	for _, t := range in.Version.Profile.Teams {
		s.seats += t.Max
	}
	return s
}

func (s *sums) point(at time.Time) *pointSums {
	return &s.line[max(0, min(points-1, int(at.Sub(s.from)/s.part)))]
}

func (s *sums) arrived(a *Arrival) {
	s.side.Tickets++
	s.side.Players += len(a.Ticket.Players)
	s.point(a.SeenAt).arrived++
}

func binOf(seconds float64) int {
	return sort.Search(len(edges), func(i int) bool { return seconds < edges[i] })
}

// band counts a match by the mean waiting of its tickets.
func (s *sums) band(p *proposal, at time.Time) {
	waited := time.Duration(0)
	for _, w := range p.tickets {
		waited += max(0, at.Sub(w.arrival.Ticket.Created))
	}
	for _, r := range p.decision.Rules {
		if r.ID == s.spread && r.Text != "ended" {
			b := &s.bands[binOf(waited.Seconds()/float64(len(p.tickets)))]
			b.matches++
			b.spread = float64(b.spread + r.Value)
		}
	}
}

// matched counts a ticket that got its match at a moment.
func (s *sums) matched(a *Arrival, at time.Time) {
	wait := max(0, at.Sub(a.Ticket.Created).Seconds())
	s.side.Matched++
	s.waitingTimes.add(wait)
	s.bins[binOf(wait)]++
	s.trade.addWaiting(a.Ticket, at)
	p := s.point(at)
	p.matched++
	p.waitingSum = float64(p.waitingSum + wait)
}

// countLeft counts a ticket that left at a moment without a match.
func (s *sums) countLeft(a *Arrival, why Leaving, at time.Time) {
	s.trade.addWaiting(a.Ticket, at)
	switch why {
	case Quit:
		s.side.NeverMatched.Quit++
	case Declined:
		s.side.NeverMatched.Declined++
	case Taken:
		s.side.NeverMatched.Taken++
	case Stayed:
		s.side.NeverMatched.Waiting++
	}
}

func (s *sums) match(m Match) {
	s.side.Matches++
	s.fill.add(float64(m.Players) / float64(max(1, s.seats)))
	if m.Latency > 0 {
		s.pings.add(float64(m.Latency))
	}
	for i, p := range m.Preferences {
		if i == len(s.side.Preferences) {
			s.side.Preferences = append(s.side.Preferences, Satisfied{Rule: p.ID, Weight: p.Weight})
		}
		if p.Holds {
			s.side.Preferences[i].Matches++
		}
	}
	for _, r := range m.Rules {
		sum := s.rules[r.ID]
		if sum == nil {
			sum = &ruleSums{}
			s.rules[r.ID] = sum
		}
		if r.Text == "ended" {
			sum.ended++
		} else {
			sum.values.add(r.Value)
		}
	}
}

// matchOf converts a proposal to a match.
func matchOf(version int, found *decide.Proposal) Match {
	m := Match{Version: version, Rules: found.Rules, Preferences: found.Preferences}
	for _, t := range found.Teams {
		m.Players += len(t.Seats)
	}
	if len(found.Regions) > 0 {
		m.Region, m.Latency = found.Regions[0].Name, found.Regions[0].Worst
	}
	return m
}

// finish returns the side.
func (s *sums) finish() Side {
	side := s.side
	side.Waiting, side.Latency, side.Fill = s.waitingTimes.summary(), s.pings.summary(), s.fill.summary()
	for i, n := range s.bins {
		bin := Bin{Tickets: n}
		if i < len(edges) {
			bin.UpTo = edges[i]
		}
		side.Bins = append(side.Bins, bin)
	}
	side.Bands, side.Trade = s.finishBands(), s.trade.summary()
	side.Quality = []Quality{}
	for _, id := range s.ruleIDs() {
		side.Quality = append(side.Quality,
			Quality{Rule: id, Values: s.rules[id].values.summary(), Ended: s.rules[id].ended})
	}
	for i := range s.line {
		p := &s.line[i]
		point := Point{At: s.from.Add(time.Duration(i) * s.part), Arrived: p.arrived, Matched: p.matched}
		if p.matched > 0 {
			point.MeanWaiting = rounded(p.waitingSum / float64(p.matched))
		}
		side.Line = append(side.Line, point)
	}
	return side
}

func (s *sums) finishBands() (bands []Band) {
	for i, b := range s.bands {
		if b.matches == 0 {
			continue
		}
		band := Band{Matches: b.matches, Spread: rounded(b.spread / float64(b.matches))}
		if i < len(edges) {
			band.UpTo = edges[i]
		}
		bands = append(bands, band)
	}
	return bands
}

// ruleIDs returns the rules that have values: those of the profile in its order, then those of other versions by name.
func (s *sums) ruleIDs() []string {
	ids := slices.Collect(maps.Keys(s.rules))
	place := func(id string) int {
		if i := slices.Index(s.order, id); i >= 0 {
			return i
		}
		return len(s.order)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return ids
}
