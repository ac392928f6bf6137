package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/lattice-director/director/internal/base/wait"
)

// progressLine prints how far something has come, a line each time that there is something new: the log of a command
// that waits for an hour stays short. The lines go to stderr, because stdout has the result.
type progressLine struct {
	stderr   io.Writer
	lastLine string
}

func (p *progressLine) show(line string) {
	if line != "" && line != p.lastLine {
		p.lastLine = line
		fmt.Fprintln(p.stderr, line)
	}
}

// operatorWait is a --wait: it looks at an interval whether something has ended.
type operatorWait struct {
	progress  progressLine
	interval  time.Duration
	timeout   time.Duration // 0: none
	whatStays string        // after an early end, for people: what holds or continues without the command
	look      func(ctx context.Context) (line string, isDone bool, err error)
}

// untilDone continues to look while the database is unreachable: an operator waits through the outage that made the
// command necessary. Errors: that of a look; or that the timeout is over or ctx has ended, with the last line, which
// says what was missing.
func (w *operatorWait) untilDone(ctx context.Context) error {
	if w.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, w.timeout)
		defer cancel()
	}
	for {
		line, isDone, err := w.look(ctx)
		// The error of the look only follows from the end of ctx.
		if err != nil && ctx.Err() != nil {
			return w.endedEarly(ctx.Err())
		}
		switch {
		case isUnavailable(err):
			w.progress.show("waiting: the database is unreachable")
		case err != nil:
			return err
		default:
			w.progress.show(line)
			if isDone {
				return nil
			}
		}
		if !wait.For(ctx, w.interval) {
			return w.endedEarly(ctx.Err())
		}
	}
}

// endedEarly is the error of a wait whose context has ended.
func (w *operatorWait) endedEarly(cause error) error {
	if errors.Is(cause, context.Canceled) {
		cause = errInterrupted // as it is, the whole error would be replaced by this one
	}
	return fmt.Errorf("%s (%w); %s", cmp.Or(w.progress.lastLine, "waiting"), cause, w.whatStays)
}
