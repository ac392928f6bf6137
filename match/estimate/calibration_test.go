package estimate

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A game whose queue is simulated: matches of eight from servers that take time to start.
type game struct {
	rate          func(second float64) float64 // players a second
	servers, most int                          // at first, and at most
	maxSkill      int                          // players with a rare skill search for longer
}

var games = map[string]game{
	"steady":           {rate: func(float64) float64 { return 10 }, servers: 1 << 20},
	"steady, by skill": {rate: func(float64) float64 { return 10 }, servers: 1 << 20, maxSkill: 10},
	"bursts": {rate: func(s float64) float64 {
		if int(s)/180%3 == 0 {
			return 40
		}
		return 4
	}, servers: 480, most: 1200},
	"ramps": {rate: func(s float64) float64 { return 2 + 14*(1-math.Cos(2*math.Pi*s/3600)) }, servers: 700, most: 1100},
	"servers that start": {rate: func(s float64) float64 {
		return 3 + 17*float64(int(s)/1200%2)
	}, servers: 120, most: 900},
	"evenings": {rate: func(s float64) float64 { return 0.5 + 14*math.Max(0, math.Sin(2*math.Pi*s/14400)) }, servers: 40, most: 700},
}

// player is one of a simulated game.
type player struct {
	created, ready float64 // seconds: when a match that suits it exists, besides servers
	skill          float64
}

func (g game) players(random *rand.Rand, n int) []player {
	all, now := make([]player, n), 0.0
	for i := range all {
		now += random.ExpFloat64() / g.rate(now)
		p := player{created: now}
		search := 6 * math.Exp(0.7*random.NormFloat64())
		if g.maxSkill > 0 {
			p.skill = float64(random.IntN(g.maxSkill))
			search *= 1 + p.skill/2
		}
		p.ready = now + search
		all[i] = p
	}
	return all
}

// simulation plays a game second by second.
type simulation struct {
	game
	random           *rand.Rand
	free, total      int
	busy, starting   []float64 // until when
	ready            []player
	arrived, matched int
}

// play matches all players, and tells an estimator.
func (g game) play(seed uint64, n int) CalibrationCounts {
	random := rand.New(rand.NewPCG(seed, 1))
	all := g.players(random, n)
	byReady := slices.Clone(all)
	slices.SortFunc(byReady, func(a, b player) int {
		if a.ready < b.ready {
			return -1
		}
		return 1
	})
	s := simulation{game: g, random: random, free: g.servers, total: g.servers}
	var e Estimator
	for second, next := 1.0, 0; s.matched < n-16; second++ {
		for s.arrived < n && all[s.arrived].created <= second {
			s.arrived++
		}
		for next < n && byReady[next].ready <= second {
			s.ready, next = append(s.ready, byReady[next]), next+1
		}
		s.runServers(second)
		for len(s.ready) >= 8 && s.free > 0 {
			for _, p := range s.ready[:8] {
				e.End(seconds64(second), seconds64(p.created), p.skill)
			}
			s.ready, s.free, s.matched = s.ready[8:], s.free-1, s.matched+8
			s.busy = append(s.busy, second+300*(0.6+0.8*random.Float64()))
		}
		e.Publish(seconds64(second), s.arrived-s.matched)
	}
	return e.TakeCalibration()
}

// runServers ends matches, starts the servers that are missing, and ends some that nobody needs.
func (s *simulation) runServers(now float64) {
	over := func(times []float64) []float64 {
		kept := slices.DeleteFunc(times, func(t float64) bool { return t <= now })
		s.free += len(times) - len(kept)
		return kept
	}
	s.busy, s.starting = over(s.busy), over(s.starting)
	for missing := len(s.ready)/8 - len(s.starting); missing > 0 && s.total < s.most; missing-- {
		s.starting, s.total = append(s.starting, now+40+50*s.random.Float64()), s.total+1
	}
	if len(s.ready) == 0 && s.free > 20 && s.total > s.servers {
		ended := min(s.free-20, 5)
		s.free, s.total = s.free-ended, s.total-ended
	}
}

// The promise: over 100,000 waits of each shape, 50 ± 2 % end before p50, and 90 ± 2 % before p90.
func TestEstimatesAreCalibrated(t *testing.T) {
	t.Parallel()
	for name, g := range games {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := g.play(7, 101_000)
			require.Greater(t, r.WaitCount, 100_000)
			half, most := float64(r.BeforeP50)/float64(r.WaitCount), float64(r.BeforeP90)/float64(r.WaitCount)
			t.Logf("%d waits: %.2f %% ended before p50, %.2f %% before p90", r.WaitCount, 100*half, 100*most)
			require.InDelta(t, 0.50, half, 0.02)
			require.InDelta(t, 0.90, most, 0.02)
		})
	}
}

// Pins what was published before: quantiles of the waits that ended of late, which are those of a queue that is over.
func TestPastWaitsAloneAreNotCalibrated(t *testing.T) {
	t.Parallel()
	var e Estimator
	for s := range 900 { // nobody waits for longer than 10 seconds
		e.Publish(seconds64(float64(s)), 10)
		e.End(seconds64(float64(s)), seconds64(float64(s)-10), 0)
	}
	crowd := e.Publish(seconds64(900), 6000)[0] // then 6,000 come, whom the same servers match
	require.Greater(t, crowd.P50, 30*time.Minute)
}
