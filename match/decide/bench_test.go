package decide

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"time"

	"github.com/lattice-director/director/internal/testkit/cputime"
	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// BenchmarkRun decides over a queue that was loaded before: ns/op is for the whole queue.
func BenchmarkRun(b *testing.B) {
	for _, teams := range [][]int{{1, 1}, {5, 5}} {
		for _, n := range []int{1000, 10_000, 50_000, 100_000} {
			b.Run(fmt.Sprintf("%dv%d/%d", teams[0], teams[1], n), func(b *testing.B) {
				p := with(game(teams...), nearSkill(100, step(10*time.Second, profile.Limits{Within: 200})))
				tickets := crowd(n, 1)
				matched := 0
				var cpu time.Duration
				for range b.N {
					b.StopTimer()
					e := New(Version{p, 1}, 1)
					for _, t := range tickets {
						e.Add(t)
					}
					runtime.GC()
					b.StartTimer()
					before := cputime.ProcessTime(b)
					found, _ := e.Run(begin.Add(time.Minute), math.MaxInt)
					cpu += cputime.ProcessTime(b) - before
					matched = 0
					for i := range found {
						matched += len(found[i].Tickets)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tickets)), "ns/ticket")
				b.ReportMetric(cpu.Seconds()/float64(b.N), "cpu-s")
				b.ReportMetric(float64(matched)/float64(len(tickets)), "matched")
			})
		}
	}
}

// BenchmarkSteady is one of 2,000 arrivals a second, of which few would heal, beside 20,000 tickets that wait for
// healers.
func BenchmarkSteady(b *testing.B) {
	p := with(tankAndHealer(game(5, 5)), nearSkill(100, step(10*time.Second, profile.Limits{Within: 200})))
	random := rand.New(rand.NewPCG(1, 2))
	n := 0
	arrive := func(at time.Time, role string) *match.Ticket {
		n++
		return ticket(fmt.Sprintf("t%08d", n), skill(1500+300*random.NormFloat64()), textOf("role", role), func(t *match.Ticket) { t.Created = at })
	}
	e := New(Version{p, 1}, 1)
	at := begin
	for range 20_000 {
		e.Add(arrive(at, "none"))
	}
	for range 20 {
		at = at.Add(time.Second + 100*time.Millisecond)
		e.Run(at, math.MaxInt)
	}
	matched := 0
	b.ResetTimer()
	for i := range b.N {
		role := "none"
		if x := random.IntN(100); x < 15 {
			role = "healer"
		} else if x < 35 {
			role = "tank"
		}
		at = at.Add(time.Second / 2000)
		e.Add(arrive(at, role))
		if i%20 == 0 {
			found, _ := e.Run(at, math.MaxInt)
			matched += 10 * len(found)
		}
	}
	b.ReportMetric(float64(matched)/float64(b.N), "matched/op")
	b.ReportMetric(float64(e.Len()), "waiting")
}

// BenchmarkAdd loads a queue of players, and one of strangers of whom no two match: ns/op is for one ticket.
func BenchmarkAdd(b *testing.B) {
	for name, tickets := range map[string][]*match.Ticket{"players": crowd(50_000, 1), "strangers": strangers(50_000)} {
		b.Run(name, func(b *testing.B) {
			p := with(game(5, 5), nearSkill(100))
			e := New(Version{p, 1}, 1)
			for i := range b.N {
				if i%len(tickets) == 0 {
					e = New(Version{p, 1}, 1)
				}
				e.Add(tickets[i%len(tickets)])
			}
		})
	}
}

// strangers returns n solo tickets whose skills are far from each other.
func strangers(n int) []*match.Ticket {
	tickets := crowd(n, 1)
	for i, t := range tickets {
		skill(float64(1000 * i))(t)
	}
	return tickets
}

// BenchmarkMemory reports the bytes that the engine holds for a ticket, without the ticket.
func BenchmarkMemory(b *testing.B) {
	p := with(game(5, 5), nearSkill(100), profile.Rule{ID: "latency", Kind: profile.Latency,
		Limits: profile.Limits{Latency: 100 * time.Millisecond, Spread: profile.NoSpread}})
	tickets := crowd(50_000, 1)
	for _, t := range tickets {
		ping("eu", 20)(t)
		ping("us", 90)(t)
	}
	heap := func() uint64 {
		runtime.GC()
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	for range b.N {
		before := heap()
		e := New(Version{p, 1}, 1)
		e.SetRegions([]Region{{"eu", true}, {"us", true}})
		for _, t := range tickets {
			e.Add(t)
		}
		b.ReportMetric(float64(heap()-before)/float64(len(tickets)), "B/ticket")
		runtime.KeepAlive(e)
	}
	runtime.KeepAlive(tickets)
}

// BenchmarkIdle runs an engine whose 50,000 candidates no rule matches, while nothing changes.
func BenchmarkIdle(b *testing.B) {
	p := with(game(1, 1), nearSkill(0))
	e := New(Version{p, 1}, 1)
	for i := range 50_000 {
		e.Add(ticket(fmt.Sprintf("t%06d", i), skill(float64(i)), func(t *match.Ticket) { t.Created = begin.Add(time.Duration(i)) }))
	}
	at := begin.Add(time.Minute)
	for range 1000 {
		at = at.Add(time.Second)
		e.Run(at, math.MaxInt)
	}
	b.ResetTimer()
	for range b.N {
		at = at.Add(time.Second)
		e.Run(at, math.MaxInt)
	}
	if _, ok := e.Next(); ok {
		b.Fatal("an idle engine waits for something")
	}
}
