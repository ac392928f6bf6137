package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// byRoomCommands are the settings of the commands for rooms.
const byRoomCommands = byOperator | byRooms

// onRoom completes a command about the room args[1] of the project args[0].
func (p *program) onRoom(cmd *cobra.Command, run databaseRun) *cobra.Command {
	cmd.ValidArgsFunction = p.completeArgs(roomWords)
	return p.onDatabase(cmd, byRoomCommands, func(ctx context.Context, op operator, args []string) error {
		err := run(ctx, op, args)
		// By the code: the text of the store is for members of the room.
		if e, ok := errors.AsType[*fault.Error](err); ok && e.Code == "lobby_unknown" {
			return fmt.Errorf("there is no such room of the project %s; 'director rooms list --project %s' lists them",
				args[0], quoteForShell(args[0]))
		}
		return err
	})
}

// roomWords completes a project, one of its rooms, and then those who are in it.
func roomWords(ctx context.Context, op operator, begun string, given []string) ([]string, error) {
	switch len(given) {
	case 0:
		return projectWords(ctx, op, begun, nil)
	case 1:
		return opsview.LobbyRooms.Words(ctx, op.store.Pool(), opsview.LobbyRoomFilter{Project: given[0]}, "room", begun, nil)
	}
	room, err := op.store.ReadLobby(ctx, given[0], given[1])
	if err != nil {
		return nil, err
	}
	var players []string
	for _, m := range room.Members {
		players = append(players, m.Player)
	}
	return matchingWords(players, begun, given[2:]), nil
}
