package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/wait"
)

// emptyEvery is how often 'fleet drain --wait' looks whether players have left.
const emptyEvery = 2 * time.Second

// addWaitFlags adds the flags of a wait for the last player.
func addWaitFlags(cmd *cobra.Command) (wait *bool, timeout *time.Duration) {
	wait = cmd.Flags().Bool("wait", false, "Return when the last player has left, and print on stderr how many are left")
	timeout = cmd.Flags().Duration("timeout", 0, "With --wait: the most time to wait, after which it fails; 0: without end")
	return wait, timeout
}

// emptyWait waits until the last player has left drained game servers.
type emptyWait struct {
	operator operator
	stderr   io.Writer

	targets  []opsview.FleetFilter
	lastLine string // of progress
}

// playersLeft are the players of game servers that have not ended.
type playersLeft struct {
	servers, occupied int
	players           int64
}

// untilEmpty returns when nobody has a seat on the targets; a game server that ends loses its players. It retries while
// the database is unreachable. Errors: the timeout, if it is not 0, or ctx has ended, with what is left.
func (w *emptyWait) untilEmpty(ctx context.Context, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	for {
		left, err := w.count(ctx)
		switch {
		case err == nil && left.players == 0:
			w.show("no player is left")
			return nil
		case err == nil:
			w.show(fmt.Sprintf("waiting: players left: %d, on %d of %d game servers", left.players, left.occupied,
				left.servers))
		case isUnavailable(err) && ctx.Err() == nil:
			w.show("waiting: the database is unreachable")
		// Otherwise the time is over or the command was interrupted, and the error of the reading is only its
		// consequence.
		case ctx.Err() == nil:
			return err
		}
		if !wait.For(ctx, emptyEvery) {
			return fmt.Errorf("%s (%w); the drains hold, and the same command waits again", w.lastLine, ctx.Err())
		}
	}
}

// count reads the targets; a game server that two of them name counts once.
func (w *emptyWait) count(ctx context.Context) (left playersLeft, err error) {
	seen := map[string]bool{}
	for _, target := range w.targets {
		servers, err := opsview.Fleet.Read(ctx, w.operator.Pool(), target, opsview.Page{})
		if err != nil {
			return left, err
		}
		for _, server := range servers {
			if seen[server.Instance] {
				continue
			}
			seen[server.Instance] = true
			left.servers++
			left.players += server.Players
			if server.Players > 0 {
				left.occupied++
			}
		}
	}
	return left, nil
}

// show prints a line of progress when it says something new.
func (w *emptyWait) show(line string) {
	if line != w.lastLine {
		w.lastLine = line
		fmt.Fprintln(w.stderr, line)
	}
}
