package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/lobby"
)

func (p *program) roomsKick() *cobra.Command {
	return p.moderatePlayers(&cobra.Command{
		Use:     "kick PROJECT ROOM PLAYER…",
		Short:   "Take players out of a room; they may join again",
		Long:    "Takes players out of a room and ends their invitations to it. 'ban' also keeps them out.",
		Example: "  director rooms kick arena lobby:friday bo --reason 'asked to'",
	}, db.RoomAct.Kick)
}

func (p *program) roomsBan() *cobra.Command {
	return p.punishPlayers(&cobra.Command{
		Use:     "ban PROJECT ROOM PLAYER…",
		Short:   "Take players out of a room and keep them out",
		Long:    "Takes players out of a room and keeps them out, while the room lives or for a time. 'pardon' ends a ban.",
		Example: "  director rooms ban arena lobby:friday bo --reason insults\n  director rooms ban arena lobby:friday bo --for 1h",
	}, db.RoomAct.Ban)
}

func (p *program) roomsMute() *cobra.Command {
	return p.punishPlayers(&cobra.Command{
		Use:     "mute PROJECT ROOM PLAYER…",
		Short:   "Refuse what players say in a room",
		Long:    "Refuses what players say in a room, while the room lives or for a time. 'pardon' ends it.",
		Example: "  director rooms mute arena chat:town bo --for 10m --reason spam",
	}, db.RoomAct.Mute)
}

func (p *program) roomsPardon() *cobra.Command {
	return p.moderatePlayers(&cobra.Command{
		Use:     "pardon PROJECT ROOM PLAYER…",
		Short:   "End the bans and mutes of players in a room",
		Long:    "Ends the bans and mutes of players in a room. It changes nothing for players who have none.",
		Example: "  director rooms pardon arena lobby:friday bo",
	}, db.RoomAct.Pardon)
}

// punishPlayers is moderatePlayers with --for.
func (p *program) punishPlayers(cmd *cobra.Command,
	punish func(in db.RoomAct, ctx context.Context, player string, lasts time.Duration) error) *cobra.Command {
	lasts := cmd.Flags().Duration("for", 0, "How long it lasts, from 1s to 8760h; by default as long as the room lives")
	requireBetween(cmd, "for", lasts, time.Second, lobby.MaxSanction)
	// 0 without --for: as long as the room lives.
	return p.moderatePlayers(cmd, func(in db.RoomAct, ctx context.Context, player string) error {
		return punish(in, ctx, player, *lasts)
	})
}

// moderatePlayers changes a room for each of the players behind it.
func (p *program) moderatePlayers(cmd *cobra.Command,
	change func(in db.RoomAct, ctx context.Context, player string) error) *cobra.Command {
	// The project, the room and at least one player.
	cmd.Args = cli.AtLeast(3)
	reason := addReason(cmd, "Why, for the event")
	return p.onRoom(cmd, func(ctx context.Context, op operator, args []string) error {
		in := op.store.As("").Because(*reason).InRoom(args[0], args[1])
		return op.changeEach("player", args[2:], func(player string) (bool, error) {
			if err := change(in, ctx, player); err != nil {
				return false, fmt.Errorf("%s: %w", player, err) // the errors of several players are printed together
			}
			// Also where a pardon had nothing to end: the store makes no difference.
			return true, nil
		})
	})
}

func (p *program) roomsClose() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "close PROJECT ROOM",
		Short:   "End a room: its members leave it, and the queue",
		Long:    "Ends a room: all members leave it with the reason closed, and a party leaves the queue. Whoever joins its id next makes a new room.",
		Example: "  director rooms close arena lobby:friday --reason 'empty since yesterday'",
		Args:    cli.Exactly(2),
	}
	reason := addReason(cmd, "Why, for the event")
	return p.onRoom(cmd, func(ctx context.Context, op operator, args []string) error {
		return op.changeEach("room", args[1:], func(room string) (bool, error) {
			// As(""): the event names the login of the database.
			err := op.store.As("").Because(*reason).InRoom(args[0], room).Close(ctx)
			return err == nil, err
		})
	})
}

func (p *program) roomsSay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "say PROJECT ROOM TEXT",
		Short: "Send the members of a room a message",
		Long: "Sends the members of a room a `room.message` with the data {\"text\": TEXT}, and without `from`, since nobody of them sent it. Clients show\n" +
			"the type say as they show what members say; another type reaches those that know it.",
		Example: "  director rooms say arena chat:town 'maintenance in ten minutes'\n  director rooms say arena chat:town 'see you soon' --type news",
		Args:    cli.Exactly(3),
	}
	kind := cmd.Flags().String("type", "say", "The type of the message")
	return p.onRoom(cmd, func(ctx context.Context, op operator, args []string) error {
		data, err := json.Marshal(map[string]string{"text": args[2]})
		if err != nil {
			return err
		}
		return op.changeEach("room", args[1:2], func(room string) (bool, error) {
			// Without a reason: the event has the type of the message, and not its text.
			err := op.store.As("").InRoom(args[0], room).Announce(ctx, *kind, data)
			return err == nil, err
		})
	})
}
