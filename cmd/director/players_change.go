package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) playersFreeSeat() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "free-seat SESSION PLAYER…",
		Short: "Free the seats of players in a session",
		Long: "Frees the seats of players in a session, which closes if nobody else has a seat in it. An event has your database role and\n" +
			"the reason. The game server sees it in its list of sessions; whether it disconnects a player is up to it.",
		Example: "  director players free-seat eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10 alice --reason 'stuck, ticket 4711'",
		Args:    cli.AtLeast(2),
	}
	return p.takeFromPlayers(cmd, byOperator,
		func(ctx context.Context, op operator, args []string, reason string) error {
			return op.changeEach("player", args[1:], func(player string) (bool, error) {
				// false: the player has left before, which is no error: the seat is free.
				return op.store.As("").FreeSeat(ctx, args[0], player, reason)
			})
		})
}

// playersCancelTicket needs the settings of profiles: a ticket is of their universe, --om-region.
func (p *program) playersCancelTicket() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "cancel-ticket TICKET…",
		Short: "Take tickets out of the queue",
		Long: "Takes tickets of players and parties out of the queue. An event has your database role and the reason; the players are told\n" +
			"that an operator did it. Refused while players of a ticket are asked whether they accept a match.",
		Example: "  director players cancel-ticket d4k0q2v8e5s0c1p6f3a0 --reason 'asked for it, ticket 4711'",
		Args:    cli.AtLeast(1), ValidArgsFunction: p.completeArgs(ticketWords),
	}
	return p.takeFromPlayers(cmd, byProfile, func(ctx context.Context, op operator, args []string, reason string) error {
		return op.changeEach("ticket", args, func(ticket string) (bool, error) {
			// false: the ticket has left the queue before.
			return op.store.As("").CancelTicket(ctx, op.conf.config.Server.Universe, ticket, reason)
		})
	})
}

// takeFromPlayers completes a command that takes something from players, for a reason.
func (p *program) takeFromPlayers(cmd *cobra.Command, commands commandSet,
	run func(ctx context.Context, op operator, args []string, reason string) error) *cobra.Command {
	// Required: the event says why something was taken from a player.
	reason := requireReason(cmd, "", "Why, for the event (required)")
	return p.onDatabase(cmd, commands, func(ctx context.Context, op operator, args []string) error {
		return run(ctx, op, args, *reason)
	})
}
