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

// stayFor is how long the system runs on for somebody who looks around. It ends by itself, because a demo that somebody
// forgot would use the machine for ever, and its bots remember all of their matches.
const stayFor = 30 * time.Minute

func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

// parseStay returns how long the system runs on after the proofs. Without a value it does so on a terminal, where
// somebody watches.
func parseStay(value string, terminal bool) (time.Duration, error) {
	stay := terminal
	if value != "" {
		var err error
		if stay, err = strconv.ParseBool(value); err != nil {
			return 0, fmt.Errorf("DEMO_STAY is %q: it must be 1 or 0, or empty to stay on a terminal", value)
		}
	}
	if !stay {
		return 0, nil
	}
	return stayFor, nil
}

// visit is the time in which somebody looks around.
type visit struct {
	maxTime     time.Duration
	consoleLink string                // that opens the console
	playUntil   func(context.Context) // until its context ends
	failedError func() error          // the error of a process that ended by itself
}

// lookAround plays on, prints the link last, and waits for Ctrl-C or until the time is over.
func (v visit) lookAround(ctx context.Context, s *screen) error {
	s.printf("\nThe system runs on, and so do its bots, until Ctrl-C, for at most %.0f minutes (until %s).\nLook around in the operators' console:\n\n  %s\n",
		v.maxTime.Minutes(), time.Now().Add(v.maxTime).Format("15:04"), v.consoleLink)
	timed, end := context.WithTimeout(ctx, v.maxTime)
	defer end()
	group, stage := errgroup.WithContext(timed)
	group.Go(func() error { v.playUntil(stage); return nil })
	group.Go(func() (err error) {
		awaitTrue(stage, func() bool { err = v.failedError(); return err != nil })
		return err
	})
	// The end of the time is no error: only a process that has died by itself is one.
	return group.Wait()
}
