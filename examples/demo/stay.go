package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/term"
)

// stayFor is how long the system runs on for somebody who looks around. Without an end, a forgotten demo would use the
// machine for ever, and answers would remember all calls of its bots.
const stayFor = 30 * time.Minute

// isTerminal reports whether the demo prints to a terminal, and not to a file or a pipe.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// parseStay returns how long the system runs on after the proofs. Without a value it runs on only on a terminal, where
// somebody watches.
func parseStay(value string, terminal bool) (time.Duration, error) {
	stays := terminal
	if value != "" {
		var err error
		if stays, err = strconv.ParseBool(value); err != nil {
			return 0, fmt.Errorf("DEMO_STAY is %q: it must be 1 or 0, or empty to stay on a terminal", value)
		}
	}
	if !stays {
		return 0, nil
	}
	return stayFor, nil
}

// inspection is the time in which somebody looks around in the running system.
type inspection struct {
	maxTime        time.Duration
	consoleLink    string                // opens the console
	runBots        func(context.Context) // returns after the end of its context
	unexpectedExit func() error          // the error of a process that ended by itself
}

// await prints the link last, and lets the bots play until Ctrl-C or the end of maxTime.
func (i inspection) await(ctx context.Context, s *screen) error {
	s.printf("\nThe system runs on, and so do its bots, until Ctrl-C, for at most %.0f minutes (until %s).\n"+
		"Look around in the operators' console:\n\n  %s\n",
		i.maxTime.Minutes(), time.Now().Add(i.maxTime).Format("15:04"), i.consoleLink)
	timed, end := context.WithTimeout(ctx, i.maxTime)
	defer end()
	group, groupCtx := errgroup.WithContext(timed)
	group.Go(func() error { i.runBots(groupCtx); return nil })
	group.Go(func() (err error) {
		awaitTrue(groupCtx, func() bool { err = i.unexpectedExit(); return err != nil })
		return err
	})
	// The end of the time is no error: only a process that has died by itself is one.
	return group.Wait()
}
