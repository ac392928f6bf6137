// Package report writes the results of a benchmark as one HTML page: findings, plots and tables in a single file that
// needs no network and no scripts, follows the reader's light or dark colour scheme, and can be printed.
//
// It measures nothing: package bench does, and the callers of this package set the targets.
package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"github.com/lattice-director/director/bench"
)

// Report is the content of a page.
type Report struct {
	Title    string
	Text     string // introduction; an empty line begins a new paragraph
	Machine  []Fact // the machine that the figures belong to
	Sections []Section
}

// Fact is a property of the machine, such as CPU: 2 × EPYC 7763.
type Fact struct{ Name, Value string }

// Section is one question and its findings. All fields except Title may be empty.
type Section struct {
	Title, Text string // as in a Report
	Findings    []Finding
	Plots       []Plot
	Runs        []Run // shown as tables
}

// Finding is a claim, a measured value and a target.
type Finding struct {
	Name          string
	Value, Target string // with their units
	Met           bool
	Note          string // may be empty
}

// Run is a run of the benchmark.
type Run struct {
	Name string // for what the scenario does not say: "naive". "" is the scenario
	bench.Result
}

var (
	//go:embed report.html
	source string
	page   = template.Must(template.New("report").Funcs(template.FuncMap{"paragraphs": paragraphs,
		"figure": figure}).Parse(source))
)

// Write writes the page. Errors are those of w. What a run does not have (calls, costs, finite numbers) is left out or
// shown as a dash.
func Write(w io.Writer, r Report) error { return page.Execute(w, view{r}) }

// paragraphs splits text at empty lines.
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

// view has the methods that the page's template calls.
type view struct{ Report }

// Tables returns the tables of a section's runs.
func (view) Tables(s Section) []table { return tables(s.Runs) }

// Asked is the number of targets.
func (v view) Asked() (asked int) {
	for _, s := range v.Sections {
		asked += len(s.Findings)
	}
	return asked
}

// Missed is the number of missed targets.
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

// Verdict summarizes a section's findings in three words; "" without findings.
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
