package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// maxPlayerName is how many bytes the name of a player may have, as in tokens.
const maxPlayerName = 255

// blockRPCs returns the RPCs by which a player decides who may invite it.
func blockRPCs() map[string]rpc {
	return map[string]rpc{
		"player.block":   runInOrder(changeBlock((*db.Store).BlockPlayer)),
		"player.unblock": runInOrder(changeBlock((*db.Store).UnblockPlayer)),
		"player.blocked": runInOrder(listBlocked),
	}
}

// changeBlock blocks or unblocks another player. It refuses a player without a name, whose blocks would end with its
// session.
func changeBlock(change func(*db.Store, context.Context, db.PlayerBlock) error) func(context.Context, *conn,
	wire.Envelope) (rpcAnswer, error) {
	return func(ctx context.Context, c *conn, e wire.Envelope) (rpcAnswer, error) {
		other, is := e.PayloadFields()["player"].(string)
		if !is || other == "" || len(other) > maxPlayerName {
			return rpcAnswer{}, wire.InvalidField("player", "has to be the name of a player")
		}
		if c.player == c.sessionEpoch.ID {
			return rpcAnswer{}, wire.FailNameless
		}
		return rpcAnswer{}, change(c.server.store, ctx, db.PlayerBlock{Region: c.region, Project: c.project,
			Player: c.player, Blocked: other})
	}
}

func listBlocked(ctx context.Context, c *conn, _ wire.Envelope) (rpcAnswer, error) {
	blocked, err := c.server.store.BlockedPlayers(ctx, c.region, c.project, c.player)
	return rpcAnswer{P: map[string]any{"players": blocked}, EventType: "player.blocked"}, err
}
