package db

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/db/query"
)

// A position is never too small, and too large by no more than those who have left and the distance of two marks.
func TestPositionsAreBounds(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		marked, later := rapid.IntRange(0, 3000).Draw(t, "waiting"), rapid.IntRange(0, 300).Draw(t, "joined later")
		row := query.LoginLinesRow{Name: "x", Mode: ValveLimited, Rate: 1, Step: int32(max(1, (marked+511)/512)),
			MarkedWaiting: int32(marked)}
		next := int64(1 + rng.IntN(5))
		row.Head = next - 1
		var line []int64 // places that wait
		for i := range marked {
			if i%int(row.Step) == 0 {
				row.Marks = append(row.Marks, next)
			}
			line = append(line, next)
			next += 1 + int64(rng.IntN(3)) // others have left
		}
		row.MarkedNext = next
		for range later {
			line = append(line, next)
			next++
		}
		gone := 0
		line = slices.DeleteFunc(line, func(int64) bool {
			leaves := rng.IntN(10) == 0
			if leaves {
				gone++
			}
			return leaves
		})
		admitted := rng.IntN(len(line) + 1)
		if admitted > 0 {
			row.Head = line[admitted-1]
		}
		row.Admitted = int64(admitted)
		line = line[admitted:]
		row.Waiting = int32(len(line))
		l := &LoginLine{row}
		for i, number := range line {
			position := l.position(number, false)
			require.GreaterOrEqual(t, position, i+1)
			require.LessOrEqual(t, position, i+1+gone+int(row.Step)-1)
		}
	})
}

func TestEstimates(t *testing.T) {
	t.Parallel()
	of := func(change func(*query.LoginLinesRow)) *LoginLine {
		row := query.LoginLinesRow{Mode: ValveLimited, Rate: 50, RecentFor: 3600, Recent: 3000}
		change(&row)
		return &LoginLine{row}
	}
	seconds := func(l *LoginLine, position int) [3]float64 {
		e := l.estimate(position, false)
		return [3]float64{e.Expected.Seconds(), e.Soonest.Seconds(), e.Latest.Round(time.Second / 10).Seconds()}
	}
	require.Equal(t, [3]float64{20, 20, 20.8}, seconds(of(func(*query.LoginLinesRow) {}), 1000), "as fast as it may")
	full := of(func(r *query.LoginLinesRow) { r.Recent = 600 })
	require.Equal(t, [3]float64{100, 20, 108.9}, seconds(full, 1000), "players leave more slowly than that")
	young := of(func(r *query.LoginLinesRow) { r.RecentFor, r.Recent = 2, 100 })
	require.InDelta(t, 20, seconds(young, 1000)[0], 0.5, "two seconds after it began to limit")
	idle := of(func(r *query.LoginLinesRow) { r.Recent = 0.5 })
	require.Equal(t, [3]float64{20, 20, 0}, seconds(idle, 1000), "nobody was admitted: no bound")
	require.Equal(t, 24*time.Hour, of(func(r *query.LoginLinesRow) { r.Rate, r.Recent = 0.001, 0 }).estimate(1_000_000, false).Expected)
	require.Nil(t, of(func(r *query.LoginLinesRow) { r.Mode = ValveClosed }).estimate(1, false))
	require.Equal(t, time.Second, askAfter(of(func(*query.LoginLinesRow) {}).estimate(1, false)))
	require.Equal(t, 5*time.Second, askAfter(of(func(*query.LoginLinesRow) {}).estimate(1000, false)))
	require.Equal(t, 30*time.Second, askAfter(nil))
}

// BenchmarkLoginLine is what the gate costs a call where nobody is stopped: a look at the replica's copy of the valves.
func BenchmarkLoginLine(b *testing.B) {
	valve := func(region, build, mode string) *LoginLine {
		return &LoginLine{query.LoginLinesRow{Region: region, Build: build, Mode: mode}}
	}
	for name, lines := range map[string][]*LoginLine{
		"no valve": nil, "an open one": {valve("", "", ValveOpen)},
		"one of another build": {valve("", "2.0", ValveLimited)},
	} {
		b.Run(name, func(b *testing.B) {
			s := &Store{}
			s.loginLines.latestReading.Store(&linesReading{lines: lines, readAt: time.Now().Add(time.Hour)})
			b.ReportAllocs()
			for b.Loop() {
				if line, err := s.DecidingLine(b.Context(), "eu", "1.0"); line != nil || err != nil {
					b.Fatal(line, err)
				}
			}
		})
	}
}
