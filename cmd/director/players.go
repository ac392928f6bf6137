package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/internal/cli"
)

func (p *program) playersCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "players",
		Short: "Show, export and erase what is known of a player, and take back what it has",
		Long: "Commands for players, who are known by the sub of their access token. The same in SQL: views ops.seats, ops.player_tickets,\n" +
			"ops.lobby_members and ops.refusals, functions ops.free_seat, ops.cancel_ticket and ops.erase_player.",
		Example: "  director players show alice\n  director players free-seat eu-west.7d3f0c7e-3a0b-4c5e-9f43-6c1d2b8e5a10 alice --reason 'stuck, ticket 4711'",
	}, p.playersShow(), p.playersExport(), p.playersFreeSeat(), p.playersCancelTicket(), p.eraseCommand())
}

func (p *program) playersShow() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "show PLAYER",
		Short: "Show the seats, tickets and rooms of a player, and why requests were refused",
		Long: "Shows what is known of a player: seats, the latest ticket for each profile, rooms of the realtime lobby, what your backend\n" +
			"has stored, and the refusals of the last 7 days. PLAYER is the sub of the access token. For the text of an attribute, such\n" +
			"as a name, it says which players have it.",
		Example:           "  director players show alice\n  director players show alice -o json | jq '.refusals[0].detail'",
		Args:              cli.Exactly(1),
		ValidArgsFunction: p.completeArgs(firstOnly(playerWords)),
	}, byProfile, func(ctx context.Context, op operator, args []string) error {
		d, err := op.readPlayer(ctx, args[0])
		if err != nil {
			return err
		}
		return writeDetails(op.out, d, playerDetails.writeText)
	})
}
