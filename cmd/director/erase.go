package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

// eraseCommand is `director erase`, and `director players erase`, which is the same.
func (p *program) eraseCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "erase PLAYER…",
		Short: "Erase players: from live tables, history and events",
		Long: "Erases players, who are known by the sub of their access token. What backends have stored, refusals, latencies and messages\n" +
			"are deleted; seats are freed, also of a player who plays now; tickets leave the queue; sessions of the realtime lobby end. In\n" +
			"history and events, a random key stands for the player, the same in all rows, and attributes are gone. This cannot be undone.\n\n" +
			"Let your login refuse the player first: a player who comes back is a new one. Workers pass over all tables once more, five\n" +
			"seconds later, for what other processes had in memory. Backups, logs and webhooks that were delivered keep what they have: see\n" +
			"docs/how-to/erase-a-player.md. Keep your own list of whom you erased, as long as you keep backups: after a restore, erase\n" +
			"them again. With - the players are read from standard input, one a line. In SQL: ops.erase_player, and the view ops.erasures.",
		Example: "  director erase alice --reason 'asked for it, ticket 4711'\n  director erase - --reason 'again, after a restore' < erased.txt",
		Args:    cli.AtLeast(1), ValidArgsFunction: p.completeArgs(playerWords),
	}
	checkFirst(cmd, func(args []string) error {
		if len(args) > 1 && slices.Contains(args, "-") {
			return cli.Usage(errors.New("- reads the players from standard input: name no others beside it"))
		}
		return nil
	})
	// byRooms: an erased player leaves rooms, and what that does depends on their types.
	return p.takeFromPlayers(cmd, byProfile|byRooms,
		func(ctx context.Context, op operator, args []string, reason string) error {
			// All players are read before the first erasure: an input that breaks off erases nobody.
			players, err := p.readPlayers(args)
			if err != nil {
				return err
			}
			return op.changeEach("player", players, func(player string) (bool, error) {
				erased, err := op.store.As("").ErasePlayer(ctx, player, reason)
				// false: nothing was known of the player, or an earlier erasure has erased all of it.
				return erased.ChangedRows > 0, err
			})
		})
}

// readPlayers returns the arguments, or the lines of standard input for -.
func (p *program) readPlayers(args []string) (players []string, err error) {
	if !slices.Contains(args, "-") {
		return args, nil
	}
	// A player is a whole line: ids may contain spaces and commas.
	lines := bufio.NewScanner(p.stdin)
	for lines.Scan() {
		// Only the line break of Windows is removed: white space may belong to an id.
		if line := strings.TrimSuffix(lines.Text(), "\r"); line != "" {
			players = append(players, line)
		}
	}
	return players, lines.Err()
}

func (p *program) playersExport() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "export PLAYER",
		Short: "Print what is known of a player, as JSON",
		Long: "Prints what is known of a player, as JSON and in one snapshot: seats and tickets, past and present, events, refusals, what your\n" +
			"backend has stored, and what the player has in the realtime lobby. It has no secrets, and of other players only whom the player\n" +
			"has named. Each section has the 10,000 latest rows; \"truncated\" names those that have more.",
		Example:           "  director players export alice > alice.json\n  director players export alice | jq '.data.past_seats | length'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(playerWords)),
	}
	// Without --output: the export is JSON in any case.
	addFlags(cmd.Flags(), byProfile)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return p.withStore(cmd, byProfile, func(ctx context.Context, op operator) error {
			export, err := op.store.ExportPlayer(ctx, args[0])
			if err != nil {
				return err
			}
			// An empty export would look like an answer to the player; a mistyped id is more likely.
			if export.IsEmpty() {
				return op.unknownPlayer(ctx, args[0])
			}
			if len(export.Truncated) > 0 {
				fmt.Fprintf(p.stderr, "director: only the latest rows of %s\n", strings.Join(export.Truncated, ", "))
			}
			return cli.WriteJSON(cmd.OutOrStdout(), export)
		})
	}
	return cmd
}
