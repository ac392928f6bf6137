// Package report shows what a benchmark measured as one HTML page for people who would rather look than read: findings,
// plots and tables in a single file that needs no network and no script, light or dark as its reader likes it, and good
// to print.
//
// It measures nothing: package bench does, and whoever runs it decides what was asked for and whether it was met.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lattice-director/director/bench"
)

// Report is a page.
type Report struct {
	Title    string
	Text     string // what it is about; an empty line begins another paragraph
	Machine  []Fact // what it was measured on: without it figures say little
	Sections []Section
}

// Fact is a line about the machine, such as CPU: 2 × EPYC 7763.
type Fact struct{ Name, Value string }

// Section is a question and what was found. All but the Title may be empty.
type Section struct {
	Title, Text string // as in a Report
	Findings    []Finding
	Plots       []Plot
	Runs        []Run // shown as tables
}

// Finding is a claim, what was measured and what was asked for.
type Finding struct {
	Name          string
	Value, Target string // with their units
	Met           bool
	Note          string // may be empty
}

// Run is a run of the benchmark.
type Run struct {
	Name string // what was run, where the scenario does not say it: "naive". "" is the scenario
	bench.Result
}

var (
	//go:embed report.html
	source string
	page   = template.Must(template.New("report").Funcs(template.FuncMap{"paragraphs": paragraphs, "figure": figure}).Parse(source))
)

// Write writes the page. Errors are those of w. What cannot be shown of a run (no calls, no costs, what is not a number)
// is left out or a dash; it is no error.
func Write(w io.Writer, r Report) error { return page.Execute(w, view{r}) }

// paragraphs are parted by empty lines.
func paragraphs(text string) (parts []string) {
	for part := range strings.SplitSeq(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n") {
		if part = strings.TrimSpace(part); part != "" {
			parts = append(parts, part)
		}
	}
	return parts
}

func figure(p Plot) (template.HTML, error) {
	var svg strings.Builder
	err := SVG(&svg, p)
	return template.HTML(svg.String()), err //nolint:gosec // SVG escapes what it was given
}

// view is what the page asks of a report.
type view struct{ Report }

// Tables of a section's runs.
func (view) Tables(s Section) []table { return tables(s.Runs) }

// Asked is how many targets there were.
func (v view) Asked() (asked int) {
	for _, s := range v.Sections {
		asked += len(s.Findings)
	}
	return asked
}

// Missed is how many of them were not reached.
func (v view) Missed() (missed int) {
	for _, s := range v.Sections {
		missed += s.missed()
	}
	return missed
}

func (s Section) missed() (missed int) {
	for _, f := range s.Findings {
		if !f.Met {
			missed++
		}
	}
	return missed
}

// Verdict is a section's findings in three words, or "" without any.
func (view) Verdict(s Section) string {
	switch missed := s.missed(); {
	case len(s.Findings) == 0:
		return ""
	case missed == 0:
		return "met"
	default:
		return fmt.Sprintf("%d missed", missed)
	}
}
