package verify_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/verify/verifytest"
)

// Pins tickets that wait although explain says that they can be matched now: tickets come one after another, and a
// match that an inquiry finds at a moment is no more possible a second later, since some of its tickets are matched.
// Steps by the mean age are noticed later, since no ticket knows when they come.
func TestWhatExplainCallsMatchableIsMatched(t *testing.T) {
	t.Parallel()
	asked, matchable := 0, 0
	for seed := range uint64(queueCases(t, 4)) {
		if !isQuick(seed) {
			continue
		}
		q := drawQueue(t, seed)
		slices.SortFunc(q.Tickets, func(a, b match.Ticket) int { return a.Created.Compare(b.Created) })
		s := &stream{Queue: q, engine: decide.New(decide.Version{Profile: q.Profile, Number: 1}, seed), waiting: map[string]*match.Ticket{}, now: q.Tickets[0].Created}
		s.engine.SetRegions(rooms)
		for range 2 {
			s.run(t, len(q.Tickets)/2)
			said := s.matchable(t)
			asked, matchable = asked+len(s.waiting), matchable+len(said)
			s.wait(time.Second)
			for id, with := range said {
				taken := slices.ContainsFunc(with, func(id string) bool { return s.waiting[id] == nil })
				require.True(t, taken, "seed %d: %s can be matched with %v: %s", seed, id, with, q.Profile.Canonical())
			}
		}
	}
	t.Logf("of %d tickets that waited, %d could be matched at that moment", asked, matchable)
}

// stream is an engine with a clock whose tickets come over a minute.
type stream struct {
	verifytest.Queue
	engine  *decide.Engine
	now     time.Time
	next    int // ticket
	waiting map[string]*match.Ticket
}

var rooms = []decide.Region{{Name: "ap", Room: true}, {Name: "eu", Room: true}, {Name: "us", Room: true}}

// run adds tickets at their time and decides after each, and whenever the engine asks for it.
func (s *stream) run(t *testing.T, tickets int) {
	t.Helper()
	for range tickets {
		added := &s.Tickets[s.next]
		s.next++
		s.wait(added.Created.Sub(s.now))
		s.engine.Add(added)
		if ok, _ := s.engine.Candidate(added); ok {
			s.waiting[added.ID] = added
		}
		s.decide()
	}
}

// wait lets time pass.
func (s *stream) wait(d time.Duration) {
	end := s.now.Add(d)
	for {
		next, ok := s.engine.Next()
		if !ok || next.After(end) {
			break
		}
		if next.After(s.now) {
			s.now = next
		}
		s.decide()
	}
	s.now = end
	s.decide()
}

func (s *stream) decide() {
	found, _ := s.engine.Run(s.now, math.MaxInt)
	for _, m := range found {
		for _, id := range m.Tickets {
			delete(s.waiting, id)
		}
	}
}

// matchable returns the tickets that an inquiry says can be matched now, and with whom.
func (s *stream) matchable(t *testing.T) map[string][]string {
	t.Helper()
	said := map[string][]string{}
	for id, ticket := range s.waiting {
		q, lacks := decide.Inquire(decide.Version{Profile: s.Profile, Number: 1}, ticket, rooms, s.now)
		require.Empty(t, lacks)
		for _, other := range s.waiting {
			q.Compare(other)
		}
		if f := q.Findings(1 << 14); f.Match != nil {
			said[id] = f.Match
		}
	}
	return said
}
