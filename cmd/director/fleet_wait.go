package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
)

// playersInterval is how often 'fleet drain --wait' counts the players, for which it reads the rows of all targets.
const playersInterval = 2 * time.Second

// addWaitFlags adds the flags of a wait for the last player.
func addWaitFlags(cmd *cobra.Command) (wait *bool, timeout *time.Duration) {
	wait = cmd.Flags().Bool("wait", false,
		"Return when the last player has left, and print on stderr how many are left")
	timeout = cmd.Flags().Duration("timeout", 0,
		"With --wait: the most time to wait, after which it fails; 0: without end")
	requireAtLeast(cmd, "timeout", timeout, 0)
	return wait, timeout
}

// playersLeft are the players of game servers that have not ended.
type playersLeft struct {
	serverCount, occupiedServers int
	playerCount                  int64
}

// waitUntilEmpty waits until nobody has a seat on the game servers; one that ends loses its players.
func (op operator) waitUntilEmpty(ctx context.Context, stderr io.Writer, targets []opsview.FleetFilter,
	timeout time.Duration) error {
	wait := operatorWait{
		progress: progressLine{stderr: stderr}, interval: playersInterval, timeout: timeout,
		whatStays: "the drains hold, and the same command waits again",
		look: func(ctx context.Context) (string, bool, error) {
			left, err := op.countPlayers(ctx, targets)
			if err != nil {
				return "", false, err
			}
			if left.playerCount == 0 {
				return "no player is left", true, nil
			}
			return fmt.Sprintf("waiting: players left: %d, on %d of %d game servers", left.playerCount,
				left.occupiedServers, left.serverCount), false, nil
		},
	}
	return wait.untilDone(ctx)
}

// countPlayers counts the players of all targets. A game server of two targets counts once.
func (op operator) countPlayers(ctx context.Context, targets []opsview.FleetFilter) (left playersLeft, err error) {
	seen := map[string]bool{}
	for _, target := range targets {
		// All rows: a page would miss players, and the wait would end too early.
		servers, err := opsview.Fleet.Read(ctx, op.store.Pool(), target, opsview.Page{})
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
