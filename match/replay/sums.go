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
	beginsAt      time.Time
	partLength    time.Duration
	seatCount     int // of a match
	side          Side
	waitingTimes  sketch
	waitBins      []int
	ruleSums      map[string]*ruleSums
	ruleOrder     []string // the profile's rules
	latencySketch sketch
	fillSketch    sketch
	linePoints    [points]pointSums
	tradeCosts    tradeSums
	waitBands     []bandSums // as edges, and one for all others
	spreadRule    string     // the id of the rule whose values bands have; "": none
}

type bandSums struct {
	matchCount int
	spreadSum  float64
}

type ruleSums struct {
	values sketch
	ended  int
}

type pointSums struct {
	arrivedCount, matchedCount int
	waitingSum                 float64
}

func newSums(in *Input) *sums {
	// partLength is at least a nanosecond, since moments are divided by it.
	s := &sums{beginsAt: in.Begin, partLength: max(1, in.End.Sub(in.Begin)/points), waitBins: make([]int, len(edges)+1),
		ruleSums:  map[string]*ruleSums{},
		waitBands: make([]bandSums, len(edges)+1), tradeCosts: newTradeSums(in.Version.Profile)}
	for _, r := range in.Version.Profile.Rules {
		s.ruleOrder = append(s.ruleOrder, r.ID)
		if s.spreadRule == "" && (r.Kind == profile.Near || r.Kind == profile.Balance) {
			s.spreadRule = r.ID
		}
	}
	for _, t := range in.Version.Profile.Teams {
		s.seatCount += t.Max
	}
	return s
}

// pointAt returns the part of the time that a moment is in. A moment before the beginning, at which a ticket waited
// already, is in the first.
func (s *sums) pointAt(at time.Time) *pointSums {
	// Because the length of a part is rounded down, a moment at the very end would be in a part after the last.
	return &s.linePoints[max(0, min(points-1, int(at.Sub(s.beginsAt)/s.partLength)))]
}

func (s *sums) countArrival(a *Arrival) {
	s.side.Tickets++
	s.side.Players += len(a.Ticket.Players)
	s.pointAt(a.SeenAt).arrivedCount++
}

// binOf returns the index of the bin of a waiting time.
func binOf(seconds float64) int {
	return sort.Search(len(edges), func(i int) bool { return seconds < edges[i] })
}

// countBand counts a match, with its spread, in the band of its tickets' mean waiting.
func (s *sums) countBand(p *proposal, at time.Time) {
	waited := time.Duration(0)
	for _, w := range p.tickets {
		waited += max(0, at.Sub(w.queuedArrival.Ticket.Created))
	}
	for _, r := range p.decision.Rules {
		// A rule that has ended measured nothing: its value would be taken for players who are equal.
		if r.ID == s.spreadRule && r.Text != "ended" {
			b := &s.waitBands[binOf(waited.Seconds()/float64(len(p.tickets)))]
			b.matchCount++
			b.spreadSum = float64(b.spreadSum + r.Value)
		}
	}
}

// countMatched counts a ticket that got its match at a moment.
func (s *sums) countMatched(a *Arrival, at time.Time) {
	wait := max(0, at.Sub(a.Ticket.Created).Seconds())
	s.side.Matched++
	s.waitingTimes.addNumber(wait)
	s.waitBins[binOf(wait)]++
	s.tradeCosts.addWaiting(a.Ticket, at)
	p := s.pointAt(at)
	p.matchedCount++
	p.waitingSum = float64(p.waitingSum + wait)
}

// countLeft counts a ticket that left at a moment without a match.
func (s *sums) countLeft(a *Arrival, why Leaving, at time.Time) {
	s.tradeCosts.addWaiting(a.Ticket, at)
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

// countMatch counts a match.
func (s *sums) countMatch(m Match) {
	s.side.Matches++
	s.fillSketch.addNumber(float64(m.Players) / float64(max(1, s.seatCount)))
	if m.Latency > 0 { // 0: not measured
		s.latencySketch.addNumber(float64(m.Latency))
	}
	for i, p := range m.Preferences {
		if i == len(s.side.Preferences) {
			// Every proposal has all preferences, in the order of the profile: the first match adds them.
			s.side.Preferences = append(s.side.Preferences, Satisfied{Rule: p.ID, Weight: p.Weight})
		}
		if p.Holds {
			s.side.Preferences[i].Matches++
		}
	}
	for _, r := range m.Rules {
		sum := s.ruleSums[r.ID]
		if sum == nil {
			sum = &ruleSums{}
			s.ruleSums[r.ID] = sum
		}
		if r.Text == "ended" {
			sum.ended++
		} else {
			sum.values.addNumber(r.Value)
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

// finishSide returns the side of the report.
func (s *sums) finishSide() Side {
	side := s.side
	side.Waiting, side.Latency = s.waitingTimes.quantileSummary(), s.latencySketch.quantileSummary()
	side.Fill = s.fillSketch.quantileSummary()
	for i, n := range s.waitBins {
		bin := Bin{Tickets: n}
		// The last bin has no end: UpTo stays 0.
		if i < len(edges) {
			bin.UpTo = edges[i]
		}
		side.Bins = append(side.Bins, bin)
	}
	side.Bands, side.Trade = s.finishBands(), s.tradeCosts.costSummary()
	side.Quality = []Quality{} // not nil, which JSON would write as null
	for _, id := range s.ruleIDs() {
		side.Quality = append(side.Quality,
			Quality{Rule: id, Values: s.ruleSums[id].values.quantileSummary(), Ended: s.ruleSums[id].ended})
	}
	for i := range s.linePoints {
		p := &s.linePoints[i]
		point := Point{At: s.beginsAt.Add(time.Duration(i) * s.partLength), Arrived: p.arrivedCount,
			Matched: p.matchedCount}
		if p.matchedCount > 0 {
			point.MeanWaiting = roundNumber(p.waitingSum / float64(p.matchedCount))
		}
		side.Line = append(side.Line, point)
	}
	return side
}

func (s *sums) finishBands() (bands []Band) {
	for i, b := range s.waitBands {
		if b.matchCount == 0 {
			continue
		}
		band := Band{Matches: b.matchCount, Spread: roundNumber(b.spreadSum / float64(b.matchCount))}
		if i < len(edges) {
			band.UpTo = edges[i]
		}
		bands = append(bands, band)
	}
	return bands
}

// ruleIDs returns the rules that have values: those of the profile in its order, then those of other versions by name.
func (s *sums) ruleIDs() []string {
	ids := slices.Collect(maps.Keys(s.ruleSums))
	place := func(id string) int {
		if i := slices.Index(s.ruleOrder, id); i >= 0 {
			return i
		}
		return len(s.ruleOrder)
	}
	slices.SortFunc(ids, func(a, b string) int { return cmp.Or(cmp.Compare(place(a), place(b)), cmp.Compare(a, b)) })
	return ids
}
