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

// emptyEvery is how often 'fleet drain --wait' looks whether players have left. Each look reads the rows of all
// targets.
const emptyEvery = 2 * time.Second

// addWaitFlags adds the flags of a wait for the last player.
func addWaitFlags(cmd *cobra.Command) (wait *bool, timeout *time.Duration) {
	wait = cmd.Flags().Bool("wait", false,
		"Return when the last player has left, and print on stderr how many are left")
	timeout = cmd.Flags().Duration("timeout", 0,
		"With --wait: the most time to wait, after which it fails; 0: without end")
	return wait, timeout
}

// emptyWait waits until the last player has left drained game servers.
type emptyWait struct {
	operator operator
	stderr   io.Writer

	drainTargets []opsview.FleetFilter
	lastLine     string // of progress
}

// playersLeft are the players of game servers that have not ended.
type playersLeft struct {
	serverCount, occupiedServers int
	playerCount                  int64
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
		left, err := w.countPlayers(ctx)
		switch {
		case err == nil && left.playerCount == 0:
			w.showProgress("no player is left")
			return nil
		case err == nil:
			w.showProgress(fmt.Sprintf("waiting: players left: %d, on %d of %d game servers", left.playerCount,
				left.occupiedServers,
				left.serverCount))
		case isUnavailable(err) && ctx.Err() == nil:
			w.showProgress("waiting: the database is unreachable")
		// Otherwise the time is over or the command was interrupted, and the error only follows from that.
		case ctx.Err() == nil:
			return err
		}
		if !wait.For(ctx, emptyEvery) {
			return fmt.Errorf("%s (%w); the drains hold, and the same command waits again", w.lastLine, ctx.Err())
		}
	}
}

// countPlayers reads the targets; a game server that two of them name counts once.
func (w *emptyWait) countPlayers(ctx context.Context) (left playersLeft, err error) {
	seen := map[string]bool{}
	for _, target := range w.drainTargets {
		servers, err := opsview.Fleet.Read(ctx, w.operator.store.Pool(), target, opsview.Page{})
		if err != nil {
			return left, err
		}
		for _, server := range servers {
			if seen[server.Instance] {
				continue
			}
			seen[server.Instance] = true
			left.serverCount++
			left.playerCount += server.Players
			if server.Players > 0 {
				left.occupiedServers++
			}
		}
	}
	return left, nil
}

// showProgress prints a line of progress when it says something new.
func (w *emptyWait) showProgress(line string) {
	if line != w.lastLine {
		w.lastLine = line
		fmt.Fprintln(w.stderr, line)
	}
}
