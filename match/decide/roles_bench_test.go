package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/lattice-director/director/internal/testkit/cputime"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// streamed is the length of a stream in tickets and seconds.
const streamed = 600

// BenchmarkRoleQueue is ten minutes of a queue of 5 against 5 with parties, with one ticket a second, beside so many
// that wait for tanks, and without roles. It reports the CPU time of each, and how many times as much roles cost.
func BenchmarkRoleQueue(b *testing.B) {
	for _, waiting := range []int{200, 2000, 20_000} {
		b.Run(fmt.Sprint(waiting), func(b *testing.B) {
			var plain, roles time.Duration
			left := 0
			for range b.N {
				near := nearSkill(100, step(10*time.Second, profile.Limits{Within: 200}), step(30*time.Second, profile.Limits{Within: 400}))
				spent, _ := runStream(b, with(game(5, 5), near), 0)
				plain += spent
				spent, left = runStream(b, with(tankAndHealer(game(5, 5)), near), waiting)
				roles += spent
			}
			b.ReportMetric(float64(plain.Microseconds())/float64(streamed*b.N), "µs/ticket-without")
			b.ReportMetric(float64(roles.Microseconds())/float64(streamed*b.N), "µs/ticket")
			b.ReportMetric(float64(roles)/float64(plain), "times")
			b.ReportMetric(float64(left), "waiting")
		})
	}
}

// runStream returns the CPU time of a stream beside tickets that came before it, and how many wait after it.
func runStream(b *testing.B, p *profile.Profile, before int) (spent time.Duration, waiting int) {
	b.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	e := New(Version{p, 1}, 1)
	at, n := begin, 0
	for ; n < before; n++ {
		e.Add(roleTicket(random, n, at, 0))
		at = at.Add(time.Millisecond)
	}
	for range 60 {
		at = at.Add(time.Second)
		e.Run(at, math.MaxInt)
	}
	start := cputime.ProcessTime(b)
	for range streamed {
		at = at.Add(time.Second)
		e.Add(roleTicket(random, n, at, 12))
		n++
		for turn := time.Duration(0); turn < time.Second; turn += time.Second / 4 {
			e.Run(at.Add(turn), math.MaxInt)
		}
	}
	return cputime.ProcessTime(b) - start, e.Len()
}

// roleTicket returns a ticket of 1 to 3 players, of whom so many in 100 would be tanks and 13 healers.
func roleTicket(random *rand.Rand, n int, at time.Time, tanks int) *match.Ticket {
	t := ticket(fmt.Sprintf("t%08d", n), party([]int{1, 1, 1, 2, 3}[random.IntN(5)]))
	t.Created = at
	of := 1500 + 300*random.NormFloat64()
	for i := range t.Players {
		has := match.Attributes{"skill": {Kind: match.Number, Number: of + 50*random.NormFloat64()}}
		switch x := random.IntN(100); {
		case x < tanks:
			has["role"] = match.Value{Kind: match.Text, Text: "tank"}
		case x < tanks+13:
			has["role"] = match.Value{Kind: match.Text, Text: "healer"}
		}
		t.Players[i].Attributes = has
	}
	return t
}
