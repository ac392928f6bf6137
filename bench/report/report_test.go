package report

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/lattice-director/director/bench"
)

// run is an invented run in which each figure occurs once.
func run(callers int) Run {
	return Run{Result: bench.Result{
		Scenario: "matchmake", Callers: callers, Instances: 31, Seconds: 10.02,
		Figures: bench.Figures{
			Calls: 123_456, Failed: 14, PerSecond: 12_344.2, Errors: map[string]int64{"timeout": 3, "503 unavailable": 11},
			Latency:       bench.Latency{P50: 1.23, P90: 4.56, P99: 17.8, P999: 98.7, Max: 1234.5, Curve: []bench.Point{{Percentile: 0, MS: 0.9}, {Percentile: 75, MS: 2}, {Percentile: 100, MS: 1234}}},
			FailedLatency: bench.Latency{P50: 0.77, P99: 8.88},
		},
		Open:  &bench.Open{Rate: 14_000, Reached: 13_999, Blocked: 71, Missed: 72, Late: bench.Latency{P50: 0.061, P99: 0.41, Max: 3.3}},
		Steps: []bench.Step{{Name: "first step", Figures: bench.Figures{Calls: 777, PerSecond: 77.7, Latency: bench.Latency{P50: 0.555}}}},
		Costs: &bench.Costs{
			ServerMicros: 41.5, PostgresMicros: 22.25, GeneratorMicros: 33, WALBytes: 612, Transactions: 0.0345, ServerRSS: 84 << 20,
			Groups: map[string]bench.Group{
				"placement": {Batches: 4000, MeanCalls: 30, Sizes: []bench.Size{{UpTo: 1}, {UpTo: 2, Batches: 200}, {UpTo: 4, Batches: 100}, {UpTo: 0}}},
				"heartbeat": {Batches: 3, MeanCalls: 2},
			},
		},
	}}
}

// sample has an example of everything.
func sample() Report {
	runs := []Run{run(16), run(256)}
	return Report{
		Title: "The hot path", Text: "One.\n\nTwo.", Machine: []Fact{{"CPU", "2 × EPYC"}},
		Sections: []Section{
			{
				Title: "Placing", Text: "How.", Runs: runs, Plots: []Plot{Throughput(runs), CPU(runs), Latencies(runs), GroupSizes(runs)},
				Findings: []Finding{{"cheap", "54 µs", "≤ 60 µs", true, "at 256 callers"}, {"quick", "1.36 ×", "≤ 1.3 ×", false, ""}},
			},
			{Title: "Nothing yet"},
		},
	}
}

func write(t *testing.T, r Report) *html.Node {
	t.Helper()
	var page strings.Builder
	require.NoError(t, Write(&page, r))
	for _, bad := range []string{"NaN", "Inf", "ZgotmplZ", "%!"} {
		require.NotContains(t, page.String(), bad)
	}
	root, err := html.Parse(strings.NewReader(page.String()))
	require.NoError(t, err)
	return root
}

func elements(root *html.Node, names ...string) (found []*html.Node) {
	for n := range root.Descendants() {
		for _, name := range names {
			if n.Type == html.ElementNode && n.Data == name {
				found = append(found, n)
			}
		}
	}
	return found
}

func attribute(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}

func said(n *html.Node) string {
	var all []string
	for child := range n.Descendants() {
		if child.Type == html.TextNode && strings.TrimSpace(child.Data) != "" {
			all = append(all, strings.TrimSpace(child.Data))
		}
	}
	return strings.Join(all, "|")
}

// Pins figures that are missing on the page.
func TestThePageSaysWhatWasMeasured(t *testing.T) {
	t.Parallel()
	root := write(t, sample())
	tables := elements(root, "table")
	require.Len(t, tables, 4)
	for i, want := range [][]string{
		{"cheap|at 256 callers|54 µs|≤ 60 µs|✓ met", "quick|1.36 ×|≤ 1.3 ×|✗ missed"},
		{
			"matchmake|256|31|10.0|123,456|14|12,344|1.23|4.56|17.8|98.7|1,234",
			"failed: 11 × 503 unavailable, 3 × timeout (p50 0.770 ms, p99 8.88 ms)",
			"first step|777|0|78|0.555|0|0|0|0",
		},
		{"matchmake|14,000|13,999|12,344|71|72|0.061|0.410|3.30"},
		{"matchmake|256|41.5|22.2|63.8|33.0|612|0.035|placement 30.0|84.0" + space + "MiB"},
	} {
		for _, line := range want {
			require.Contains(t, said(tables[i]), line)
		}
	}
	require.Contains(t, said(root), "One.|Two.|✗ 1 of 2 targets missed|CPU|2 × EPYC|Placing|✗ 1 missed|Nothing yet|Placing|How.")
}

// The page loads nothing: it is mailed and kept, and other files would be missing or blocked.
func TestThePageNeedsNothingElse(t *testing.T) {
	t.Parallel()
	root := write(t, sample())
	require.Empty(t, elements(root, "script", "link", "img", "iframe", "object", "embed", "use", "image"))
	for n := range root.Descendants() {
		for _, a := range n.Attr {
			if a.Key == "href" || a.Key == "src" || a.Key == "srcset" {
				require.True(t, strings.HasPrefix(a.Val, "#"), a.Val)
			}
			require.NotContains(t, a.Val, "url(")
		}
	}
	for _, style := range elements(root, "style") {
		require.NotContains(t, said(style), "url(")
		require.NotContains(t, said(style), "@import")
	}
}

// Screen readers find headings, the headers of table cells, and descriptions of figures.
func TestThePageCanBeHeard(t *testing.T) {
	t.Parallel()
	root := write(t, sample())
	require.Equal(t, "en", attribute(elements(root, "html")[0], "lang"))
	require.Len(t, elements(root, "h1"), 1)
	require.Len(t, elements(root, "h2"), 2)
	for _, cell := range elements(root, "th") {
		require.NotEmpty(t, attribute(cell, "scope"))
	}
	pictures := elements(root, "svg")
	require.Len(t, pictures, 4)
	for _, svg := range pictures {
		require.Equal(t, "img", attribute(svg, "role"))
	}
	require.Equal(t, "Throughput: calls per second by requested calls per second. matchmake", attribute(pictures[0], "aria-label"))
	for _, link := range elements(root, "a") {
		target := strings.TrimPrefix(attribute(link, "href"), "#")
		require.Condition(t, func() bool {
			for n := range root.Descendants() {
				if attribute(n, "id") == target {
					return true
				}
			}
			return false
		}, target)
	}
}

// Every row has as many cells as the header, so that figures are in the right columns.
func TestCellsStandUnderTheirHeads(t *testing.T) {
	t.Parallel()
	for _, table := range tables([]Run{run(1)}) {
		heads := 0
		for _, g := range table.Groups {
			heads += len(g.Names)
		}
		for _, r := range table.Rows {
			require.Len(t, r.Cells, heads, table.Caption)
		}
	}
}

const hostile = `</text></svg><script>alert(1)</script>"' onload='x' <![CDATA[ &amp; ]]> ` + "\x00\x01\x1b\u2028\ufffe\xff\nline"

// Names are escaped: they come from flags and from answers of servers.
func TestHostileNames(t *testing.T) {
	t.Parallel()
	r := run(1)
	r.Name, r.Errors, r.Steps = hostile, map[string]int64{hostile: 3}, []bench.Step{{Name: hostile}}
	r.Costs.Groups = map[string]bench.Group{hostile: r.Costs.Groups["placement"]}
	p := Plot{Title: hostile, X: Axis{Title: hostile}, Y: Axis{Title: hostile, Label: func(float64) string { return hostile }}, Series: []Series{{hostile, []float64{1}, []float64{1}}}}
	root := write(t, Report{Title: hostile, Text: hostile, Machine: []Fact{{hostile, hostile}}, Sections: []Section{{
		Title: hostile, Text: hostile, Runs: []Run{r, r}, Findings: []Finding{{hostile, hostile, hostile, true, hostile}},
		Plots: []Plot{p, Throughput([]Run{r}), Latencies([]Run{r, r}), GroupSizes([]Run{r})},
	}}})
	require.Empty(t, elements(root, "script"))
	require.Len(t, elements(root, "svg"), 4)
	for n := range root.Descendants() {
		require.Empty(t, attribute(n, "onload"))
	}
	wellFormed(t, picture(t, p))
}

// Pins a report that cannot be written because values were not measured.
func TestNothingToShow(t *testing.T) {
	t.Parallel()
	nan, inf := math.NaN(), math.Inf(1)
	odd := Run{Result: bench.Result{
		Seconds: nan,
		Figures: bench.Figures{Calls: 1, PerSecond: inf, Latency: bench.Latency{P50: nan, P90: inf, Curve: []bench.Point{{Percentile: nan, MS: 1}, {Percentile: 50, MS: -inf}, {Percentile: 200, MS: 1}}}},
		Open:    &bench.Open{Rate: nan}, Costs: &bench.Costs{ServerMicros: nan, WALBytes: -inf, Groups: map[string]bench.Group{"g": {Batches: 1, MeanCalls: nan}, "none": {}}},
	}}
	failed := Run{Result: bench.Result{Callers: 4, Figures: bench.Figures{Calls: 2, Failed: 2}}}
	write(t, Report{})
	for _, runs := range [][]Run{nil, {{}}, {odd}, {failed}, {{}, odd, failed}} {
		plots := []Plot{{}, Throughput(runs), CPU(runs), Latencies(runs), GroupSizes(runs)}
		root := write(t, Report{Sections: []Section{{Runs: runs, Plots: plots}}})
		require.Len(t, elements(root, "svg"), len(plots))
	}
	require.Contains(t, said(elements(write(t, Report{Sections: []Section{{Runs: []Run{failed}}}}), "tbody")[0]), "2|2|0|–|–|–|–|–")
}

type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

// Pins a report that is cut short without an error.
func TestAFullDiskIsAnError(t *testing.T) {
	t.Parallel()
	require.ErrorIs(t, Write(full{}, sample()), errFull)
	require.ErrorIs(t, SVG(full{}, Plot{}), errFull)
}

// picture draws a plot.
func picture(t require.TestingT, p Plot) string {
	var svg strings.Builder
	require.NoError(t, SVG(&svg, p))
	return svg.String()
}

// wellFormed parses an XML text to its end.
func wellFormed(t require.TestingT, text string) {
	for d := xml.NewDecoder(strings.NewReader(text)); ; {
		_, err := d.Token()
		if errors.Is(err, io.EOF) {
			return
		}
		require.NoError(t, err)
	}
}
