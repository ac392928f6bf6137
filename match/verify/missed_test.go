package verify_test

import (
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/longtest"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/decide"
	"github.com/lattice-director/director/match/profile"
	"github.com/lattice-director/director/match/verify"
	"github.com/lattice-director/director/match/verify/verifytest"
)

var allRegions = []string{"ap", "eu", "us"}

// queueCases returns how many random queues a test decides: DIRECTOR_TEST_QUEUES, or few.
func queueCases(t *testing.T, few int) int {
	t.Helper()
	if n, err := strconv.Atoi(os.Getenv("DIRECTOR_TEST_QUEUES")); err == nil {
		return n
	}
	return few
}

// slowSeeds draw queues about which an engine decides for ten seconds and more under the race detector.
var slowSeeds = []uint64{0, 2, 9, 3032, 10750}

// isQuick reports whether each test run has the queue of a seed. A long run has all.
func isQuick(seed uint64) bool { return longtest.Enabled() || !slices.Contains(slowSeeds, seed) }

// Pins a search that leaves tickets waiting that have a match: of random queues, of which the engine has decided all
// that it can, random fills and trials of all matches of a few tickets find no other match. With a rule on balance a
// hundredth may be missed. The last fifth of the queues are new each time.
func TestNoMatchOfAQueueIsMissed(t *testing.T) {
	t.Parallel()
	n, drawn := queueCases(t, 12), uint64(time.Now().UnixNano())
	t.Log("the last fifth is drawn from", drawn)
	missed := map[bool]int{} // with and without a balance
	balanced := 0
	for i := range n {
		seed := uint64(i)
		if i >= n-n/5 {
			seed += drawn
		}
		if !isQuick(seed) {
			continue
		}
		s := queueScene{Queue: drawQueue(t, seed), random: rand.New(rand.NewPCG(seed, 1))}
		if s.Balanced() {
			balanced++
		}
		s.run(t, seed)
		if found, ok := s.leftMatch(); ok {
			missed[s.Balanced()]++
			t.Logf("seed %d: of %d tickets %d are left, and %d of them are a match: %s",
				seed, len(s.Tickets), len(s.left), len(found.Tickets), s.Profile.Canonical())
		}
	}
	t.Logf("%d queues, %d of them with a balance: missed %d and %d", n, balanced, missed[false], missed[true])
	require.Zero(t, missed[false])
	require.LessOrEqual(t, missed[true], (balanced+99)/100)
}

// Pins queues that were missed: a least number of a match that one player breaks, rare values of `different` beyond the
// nearest tickets, teams of equal numbers among the few who are far from the mean, parties of two clans among the
// candidates where each team has one, places among them that nobody took, and latencies too far from each other.
func TestQueuesThatWereMissed(t *testing.T) {
	t.Parallel()
	for _, seed := range []uint64{
		916, 989, 2324, 2452, 2673, 2912, 3032, 3163, 5375, 10750, 11325, 1795741207732028271, 1795741207732028293,
	} {
		if !isQuick(seed) {
			continue
		}
		s := queueScene{Queue: drawQueue(t, seed), random: rand.New(rand.NewPCG(seed, 1))}
		s.run(t, seed)
		_, missed := s.leftMatch()
		require.False(t, missed, "seed %d", seed)
	}
}

// drawQueue draws a queue whose profile is valid: rules that contradict each other are refused.
func drawQueue(t *testing.T, seed uint64) verifytest.Queue {
	t.Helper()
	random := rand.New(rand.NewPCG(seed, 0))
	for {
		q := verifytest.RandomQueue(random)
		p, err := profile.Parse(q.Profile.Canonical())
		if err == nil {
			q.Profile = p
			return q
		}
		require.ErrorContains(t, err, "no match can satisfy this")
	}
}

// queueScene is a random queue that an engine decides about.
type queueScene struct {
	verifytest.Queue
	random *rand.Rand
	left   []match.Ticket
	now    time.Time
}

// run runs the engine until it has nothing more to do, and checks each match.
func (s *queueScene) run(t *testing.T, seed uint64) {
	t.Helper()
	e := decide.New(decide.Version{Profile: s.Profile, Number: 1}, seed)
	e.SetRegions([]decide.Region{{Name: "ap", Room: true}, {Name: "eu", Room: true}, {Name: "us", Room: true}})
	for i := range s.Tickets {
		e.Add(&s.Tickets[i])
	}
	s.now = verifytest.Now
	taken := map[string]bool{}
	for turns := 0; ; turns++ {
		require.Less(t, turns, 10_000, "the engine never rests")
		found, _ := e.Run(s.now, math.MaxInt)
		for _, m := range found {
			sc := scene{p: s.Profile, tickets: s.Tickets}
			require.Empty(t, sc.violations(m, s.now))
			for _, id := range m.Tickets {
				taken[id] = true
			}
		}
		next, ok := e.Next()
		if !ok {
			break
		}
		if next.After(s.now) {
			s.now = next
		}
	}
	s.left = slices.DeleteFunc(slices.Clone(s.Tickets), func(t match.Ticket) bool { return taken[t.ID] })
}

// leftMatch looks for a match of the tickets that are left.
func (s *queueScene) leftMatch() (verify.Match, bool) {
	if found, ok := verify.Guess(s.Profile, s.left, allRegions, s.now, s.random, 100); ok {
		return found, true
	}
	if s.Profile.Teams[0].AllowSplit { // too many matches to try all
		return verify.Match{}, false
	}
	few := slices.Clone(s.left)
	for range 5 {
		s.random.Shuffle(len(few), func(i, j int) { few[i], few[j] = few[j], few[i] })
		if found, ok := verify.Find(s.Profile, few[:min(len(few), 5)], allRegions, s.now); ok {
			return found, true
		}
	}
	return verify.Match{}, false
}
