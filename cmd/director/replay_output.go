package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/matching/replayer"
	"github.com/lattice-director/director/match/replay"
)

// progress shows the virtual time on a terminal.
type progress struct {
	bar              *progressbar.ProgressBar // nil: no terminal
	beginsAt, endsAt time.Time
}

// newProgress shows nothing where the output is no terminal.
func newProgress(to io.Writer, what string, from, until time.Time) *progress {
	p := &progress{beginsAt: from, endsAt: until}
	// A bar would fill a log with control characters.
	if cli.IsTerminal(to) {
		p.bar = progressbar.NewOptions64(100, progressbar.OptionSetWriter(to), progressbar.OptionSetWidth(30),
			progressbar.OptionClearOnFinish(),
			progressbar.OptionSetDescription(what), progressbar.OptionSetElapsedTime(false))
	}
	return p
}

func (p *progress) showTime(at time.Time) {
	if p.bar != nil {
		// Never divided by 0: the callers have checked that the end is after the beginning.
		_ = p.bar.Set64(int64(100 * at.Sub(p.beginsAt) / p.endsAt.Sub(p.beginsAt)))
	}
}

func (p *progress) endBar() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}

// writeReplayReport prints the table of a report, and what the replay does not reproduce.
func writeReplayReport(out cli.Output, report *replay.Report) error {
	if out.JSON {
		return cli.WriteJSON(out.Writer, report)
	}
	header, cells := []string{"measure", "recorded",
		"with these rules"}, func(l replayer.Line) []any { return []any{l.Measure, l.Recorded, l.Replayed} }
	if report.Recorded == nil { // a simulation, which has nothing to compare with
		header, cells = []string{"measure",
			"simulated"}, func(l replayer.Line) []any { return []any{l.Measure, l.Replayed} }
	}
	if err := cli.Write(out, replayer.Lines(report), header, cells); err != nil {
		return err
	}
	writeList(out, "No candidates:", replayer.NoCandidates(report), "- ")
	writeList(out, "Spread of the matches by the mean waiting of their tickets:", replayer.Bands(report), "")
	if optimum := replayer.Optimum(report); optimum != "" {
		fmt.Fprintf(out.Writer, "\n%s\n", optimum)
	}
	if verdict := replayer.Verdict(report); verdict != "" {
		fmt.Fprintf(out.Writer, "\n%s\n", verdict)
	}
	if difference := replayer.FirstDifference(report); difference != "" {
		fmt.Fprintln(out.Writer, difference)
	}
	writeList(out, "Not reproduced:", report.NotReproduced, "- ")
	return nil
}

// writeList prints a title and lines below it; nothing without lines.
func writeList(out cli.Output, title string, lines []string, mark string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(out.Writer, "\n%s\n", title)
	for _, line := range lines {
		fmt.Fprintf(out.Writer, "%s%s\n", mark, line)
	}
}
