package report

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/lattice-director/director/bench"
)

var paths = regexp.MustCompile(`<path d="([^"]*)" style="fill:none;stroke:(#[0-9A-F]{6});stroke-width:2.25`)

// Pins a line that is missing among others.
func TestEverySeriesIsALine(t *testing.T) {
	t.Parallel()
	p := Plot{Title: "many"}
	for i := range 20 {
		p.Series = append(p.Series, Series{fmt.Sprintf("series %d", i), []float64{1, 2, 3}, []float64{float64(i), 2, 30}})
	}
	svg := picture(t, p)
	wellFormed(t, svg)
	drawn := map[string]int{}
	for _, path := range paths.FindAllStringSubmatch(svg, -1) {
		drawn[path[2]]++
	}
	for i, s := range p.Series {
		hue := inks[i%len(inks)]
		require.GreaterOrEqual(t, drawn[fmt.Sprintf("#%02X%02X%02X", hue.R, hue.G, hue.B)], 4, "two or more lines, and what names them")
		require.Contains(t, svg, ">"+space+s.Name+"</text>")
	}
	require.NotContains(t, svg, "http:/"+"/www.w3.org/1999/xlink")
	require.NotContains(t, svg, "fill:#F", "nothing is painted behind")
}

// Pins axes without an end, or lines outside the picture, for a single point, equal values, infinite values, NaN, and
// ranges of hundreds of decades.
func TestLinesStayOnThePaper(t *testing.T) {
	t.Parallel()
	value := rapid.OneOf(
		rapid.Float64(), rapid.Float64Range(0, 1e5), rapid.SampledFrom([]float64{0, 1, -1, math.NaN(), math.Inf(1), math.Inf(-1), 5e-324, math.MaxFloat64}),
	)
	values := rapid.SliceOfN(value, 0, 20)
	rapid.Check(t, func(t *rapid.T) {
		axis := func(name string) Axis {
			a := Axis{Log: rapid.Bool().Draw(t, name)}
			if rapid.Bool().Draw(t, name+" marked") {
				a.Ticks = values.Draw(t, name+" marks")
			}
			return a
		}
		p := Plot{X: axis("x"), Y: axis("y")}
		for i := range rapid.IntRange(0, 3).Draw(t, "series") {
			p.Series = append(p.Series, Series{strconv.Itoa(i), values.Draw(t, "xs"), values.Draw(t, "ys")})
		}
		svg := picture(t, p)
		wellFormed(t, svg)
		require.NotContains(t, svg, "NaN")
		require.NotContains(t, svg, "Inf")
		for _, path := range paths.FindAllStringSubmatch(svg, -1) {
			for _, at := range strings.FieldsFunc(path[1], func(r rune) bool { return r == 'M' || r == 'L' }) {
				var x, y float64
				_, err := fmt.Sscanf(at, "%g,%g", &x, &y)
				require.NoError(t, err, at)
				require.True(t, 0 <= x && x <= width.Points() && 0 <= y && y <= p.height().Points(), at)
			}
		}
	})
}

func labels(marks []mark) string {
	all := make([]string, len(marks))
	for i, m := range marks {
		all[i] = strings.ReplaceAll(m.label, " ", "")
	}
	return strings.Join(all, " ")
}

// Pins marks that are not round numbers.
func TestAxesAreMarkedAtRoundNumbers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		axis   Axis
		values []float64
		want   string
	}{
		{Axis{}, nil, "0 0.2 0.4 0.6 0.8 1"},
		{Axis{}, []float64{14_873, 120}, "0 2k 4k 6k 8k 10k 12k 14k 16k"},
		{Axis{}, []float64{-3, 7}, "-4 -2 0 2 4 6 8"},
		{Axis{}, []float64{5e-324}, "0 0.2 0.4 0.6 0.8 1"}, // had an endless number of marks
		{Axis{}, []float64{0.3}, "0 0.05 0.1 0.15 0.2 0.25 0.3"},
		{Axis{Log: true, Label: Milliseconds}, nil, "1ms 2ms 5ms 10ms"},
		{Axis{Log: true, Label: Milliseconds}, []float64{0.33, 45}, "200µs 500µs 1ms 2ms 5ms 10ms 20ms 50ms"},
		{Axis{Log: true, Label: Milliseconds}, []float64{0.2, 3_000}, "1ms 10ms 100ms 1s"},
		{Axis{Log: true, Label: Whole, Ticks: []float64{1, 4, 256, 257, 1024, 5000}}, []float64{1, 1024}, "1 4 256 1,024"},
		{Axis{Log: true}, []float64{50}, "20 50 100"},
	} {
		require.Equal(t, c.want, labels(c.axis.span(c.values).marks), "%v of %v", c.axis.Log, c.values)
	}
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64][3]string{ // Short, Whole, figures
		0:           {"0", "0", "0"},
		0.0345:      {"0.0345", "0", "0.035"},
		1.5:         {"1.5", "2", "1.50"},
		99.96:       {"100", "100", "100.0"},
		999.9:       {"1000", "1,000", "1,000"},
		1234:        {"1.23 k", "1,234", "1,234"},
		10_000:      {"10 k", "10,000", "10,000"},
		2_500_000:   {"2.5 M", "2,500,000", "2,500,000"},
		-1_234:      {"-1.23 k", "-1,234", "-1,234"},
		math.NaN():  {none, none, none},
		math.Inf(1): {none, none, none},
	} {
		require.Equal(t, want, [3]string{strings.ReplaceAll(Short(v), space, " "), Whole(v), figures(v)})
	}
}

// The distance of percentiles grows with their rarity, as in HdrHistogram's plots; the slowest call of all would be
// infinitely far to the right.
func TestLatencies(t *testing.T) {
	t.Parallel()
	a, b := run(16), run(256)
	b.Latency.Curve = nil
	p := Latencies([]Run{a, b, b})
	require.Equal(t, Series{"16 callers", []float64{1, 4}, []float64{0.9, 2}}, p.Series[0])
	require.Equal(t, []string{"256 callers", "256 callers (2)"}, []string{p.Series[1].Name, p.Series[2].Name})
	require.InDeltaSlice(t, []float64{2, 10, 100, 1000}, p.Series[1].X, 0.001)
	require.Equal(t, []float64{1.23, 4.56, 17.8, 98.7}, p.Series[1].Y)

	x, _ := p.spans()
	require.Equal(t, "50% 90% 99% 99.9%", labels(x.marks))
}

// Pins a later run with fewer callers that drew a line backwards.
func TestPlotsOverTheLoad(t *testing.T) {
	t.Parallel()
	runs := []Run{run(64), run(16), run(256)}
	for i := range runs {
		runs[i].PerSecond = float64(runs[i].Callers)
		runs[i].Open.Rate = float64(1000 - runs[i].Callers)
	}
	runs[2].Name, runs[2].Costs = "naive", nil
	p := Throughput(runs)
	require.Equal(t, "requested calls per second", p.X.Title)
	require.Equal(t, []Series{{"naive", []float64{744}, []float64{256}}, {"matchmake", []float64{936, 984}, []float64{64, 16}}}, p.Series)

	runs[0].Open = nil
	p = Throughput(runs)
	require.Equal(t, "callers", p.X.Title)
	require.Equal(t, []Series{{"matchmake", []float64{16, 64}, []float64{16, 64}}, {"naive", []float64{256}, []float64{256}}}, p.Series)
	require.Equal(t, []Series{{"matchmake", []float64{16, 64}, []float64{63.75, 63.75}}}, CPU(runs).Series)
	require.Equal(t, []Series{{"matchmake: placement", []float64{16, 64}, []float64{30, 30}}}, GroupSizes(runs).Series)
}

// A plot with one dot or none is left out.
func TestPlotsThatSaySomething(t *testing.T) {
	t.Parallel()
	titles := func(runs ...Run) (all []string) {
		for _, p := range Plots(runs) {
			all = append(all, p.Title)
		}
		return all
	}
	require.Empty(t, titles())
	bare, faster := run(16), run(16)
	faster.Open.Rate++
	require.Equal(t, []string{"Latency by percentile", "Calls by the size of their group"}, titles(run(16)))
	require.Equal(t, []string{"Throughput", "Cost of a call", "Latency by percentile", "Group size"}, titles(run(16), faster))
	bare.Costs = nil
	require.Equal(t, []string{"Latency by percentile"}, titles(bare))
}

// Nine batches in ten may hold one call each while most calls share a batch.
func TestShareOfCallsBySize(t *testing.T) {
	t.Parallel()
	r := run(16)
	r.Costs.Groups["placement"] = bench.Group{Batches: 10_000, MeanCalls: 10, Sizes: []bench.Size{{UpTo: 1, Batches: 150}, {UpTo: 2}, {UpTo: 4, Batches: 100}, {UpTo: 8}, {Batches: 50}}}
	p := GroupSizes([]Run{r})
	require.Len(t, p.Series, 1, "heartbeats only keep the game servers alive")
	require.Equal(t, []float64{1, 2, 4, 8, 16}, p.Series[0].X)
	require.InDeltaSlice(t, []float64{0.13, 0, 0.31, 0, 0.56}, p.Series[0].Y, 0.01)
	require.Equal(t, "56"+space+"%", p.Y.Label(0.56))
}

// Pins a legend in another order than the lines.
func TestTheLegendFollowsTheLines(t *testing.T) {
	t.Parallel()
	p := Plot{Series: []Series{
		{"low", []float64{1, 2}, []float64{9, 1}}, {"none", []float64{1}, []float64{math.NaN()}}, {"high", []float64{1, 2}, []float64{1, 9}},
	}}
	require.Equal(t, []int{2, 0, 1}, p.fromTheTop())
}
