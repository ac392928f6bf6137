package decide

import (
	"fmt"
	"math"
	"runtime"
	"testing"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// BenchmarkRun decides over a queue that was loaded before: ns/op is for the whole queue.
func BenchmarkRun(b *testing.B) {
	for _, teams := range [][]int{{1, 1}, {5, 5}} {
		for _, n := range []int{1000, 10_000, 50_000, 100_000} {
			b.Run(fmt.Sprintf("%dv%d/%d", teams[0], teams[1], n), func(b *testing.B) {
				p := with(game(teams...), nearSkill(100, step(10*time.Second, profile.Limits{Within: 200})))
				benchmarkRun(b, p, crowd(n, 1))
			})
		}
	}
}

func benchmarkRun(b *testing.B, p *profile.Profile, tickets []*match.Ticket) {
	b.Helper()
	matched := 0
	for range b.N {
		b.StopTimer()
		e := New(Version{p, 1}, 1)
		for _, t := range tickets {
			e.Add(t)
		}
		runtime.GC()
		b.StartTimer()
		found, _ := e.Run(begin.Add(time.Minute), math.MaxInt)
		matched = 0
		for i := range found {
			matched += len(found[i].Tickets)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(tickets)), "ns/ticket")
	b.ReportMetric(float64(matched)/float64(len(tickets)), "matched")
}

// BenchmarkAdd loads a queue: ns/op is for one ticket.
func BenchmarkAdd(b *testing.B) {
	p := with(game(5, 5), nearSkill(100))
	tickets := crowd(50_000, 1)
	e := New(Version{p, 1}, 1)
	b.ResetTimer()
	for i := range b.N {
		if i%len(tickets) == 0 {
			e = New(Version{p, 1}, 1)
		}
		e.Add(tickets[i%len(tickets)])
	}
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

func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
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
