package main

import (
	"fmt"
	"io"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/lattice-director/director/bench"
)

// progress is a progress bar on a terminal, for one run.
type progress struct {
	what string
	bar  *progressbar.ProgressBar
}

func newProgressBar(to io.Writer, what string, callers int) *progress {
	return &progress{fmt.Sprintf("%s, %s", what, plural(callers, "caller")), progressbar.NewOptions64(1,
		progressbar.OptionSetWriter(to), progressbar.OptionSetWidth(20), progressbar.OptionUseANSICodes(true),
		progressbar.OptionSetElapsedTime(false), progressbar.OptionSetPredictTime(false),
	)}
}

func (p *progress) show(at bench.Progress) {
	p.bar.Describe(fmt.Sprintf("%s: %s, %d calls, %d failed", p.what, at.Phase, at.Calls, at.Failed))
	p.bar.ChangeMax64(max(int64(at.Total/time.Millisecond), 1))
	_ = p.bar.Set64(int64(at.Elapsed / time.Millisecond)) // an error means that nothing is shown
}

func (p *progress) clear() { _ = p.bar.Clear() }
