package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) roomsCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "rooms",
		Short: "List, show and moderate rooms of the realtime lobby",
		Long: "Commands for the rooms of the realtime lobby: chats, lobbies, parties and matches. Rooms of Rivalis game servers are in 'director agents'.\n\n" +
			"What a change does depends on the type of the room, so these commands need the same DIRECTOR_REALTIME_ROOMS as the replicas, and the\n" +
			"director's own database role, as 'projects' does; there are no functions in SQL. The view ops.lobbies lists the rooms. An event names\n" +
			"your login in the database, and the reason.",
		Example: "  director rooms list --project arena\n  director rooms show arena lobby:friday\n  director rooms mute arena lobby:friday bo --for 10m --reason spam",
	}, p.roomsList(), p.roomsShow(), p.roomsKick(), p.roomsBan(), p.roomsMute(), p.roomsPardon(), p.roomsClose(),
		p.roomsSay())
}

func (p *program) roomsList() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the rooms",
		Long:    "Lists the rooms of all projects, by region, project and id.",
		Example: "  director rooms list\n  director rooms list --project arena --text party: -o json",
		Args:    cli.Exactly(0),
	}
	project := cmd.Flags().String("project", "", "Only this project")
	text := cmd.Flags().String("text", "", "Only rooms whose id begins so, or that have this type")
	limit := addLimit(cmd, "The most rooms to list")
	p.completeFlag(cmd, "project", projectWords)
	return p.onDatabase(cmd, byRoomCommands, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.LobbyRooms, opsview.LobbyRoomFilter{Project: *project, Text: *text},
			opsview.Page{Limit: *limit}, table[opsview.LobbyRoom]{
				titles: []string{
					"project", "room", "type", "members", "max", "away", "invited", "locked", "private", "created",
				},
				spareTitles: []string{"invited", "private", "away", "max"},
				rowCells: func(r opsview.LobbyRoom) []any {
					return []any{
						r.Project, r.Room, r.Type, r.Members, r.MaxMembers, r.Away, r.Invited, r.Locked, r.Private,
						r.CreatedAt,
					}
				},
			})
	})
}

func (p *program) roomsShow() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show PROJECT ROOM",
		Short:   "Show a room with its members, and who is invited, banned and muted",
		Long:    "Shows a room with its members in the order in which they joined, and with the players who are invited, banned or muted.",
		Example: "  director rooms show arena lobby:friday\n  director rooms show arena lobby:friday -o json | jq -r '.members[].player'",
		Args:    cli.Exactly(2),
	}
	return p.onRoom(cmd, func(ctx context.Context, op operator, args []string) error {
		room, err := op.store.ReadLobby(ctx, args[0], args[1])
		if err != nil {
			return err
		}
		return writeDetails(op.out, room, writeRoom)
	})
}

// writeRoom puts members, invited, banned and muted players into one table: a player may be in several of its rows.
func writeRoom(d db.LobbyDetails, out cli.Output) error {
	fmt.Fprintf(out.Writer, "%s, a %s with %d of %d members, made at %s\n\n", d.Room, d.Type, len(d.Members),
		d.MaxMembers,
		readableTime(&d.CreatedAt))
	type line struct{ player, standing, session, until, reason string }
	var lines []line
	for _, m := range d.Members {
		standing := "member"
		if m.Away {
			standing = "member, away"
		}
		lines = append(lines, line{player: m.Player, standing: standing, session: m.Session})
	}
	for _, player := range d.Invited {
		lines = append(lines, line{player: player, standing: "invited"})
	}
	for _, s := range d.Banned {
		lines = append(lines, line{s.Player, "banned", "", readableTime(s.Until), s.Reason})
	}
	for _, s := range d.Muted {
		lines = append(lines, line{s.Player, "muted", "", readableTime(s.Until), s.Reason})
	}
	return cli.Write(out, lines, []string{"player", "is", "session", "until", "reason"}, func(l line) []any {
		return []any{l.player, l.standing, l.session, l.until, l.reason}
	})
}
