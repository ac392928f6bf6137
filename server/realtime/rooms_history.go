package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

// listRoomMessages answers with what the room remembers of what its members have said.
func listRoomMessages(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	after := wire.ClampInteger(e.PayloadFields()["after"], 0, 0, maxMessageNumber)
	return func() (rpcAnswer, error) {
		said, err := c.server.store.LobbySayings(ctx, c.region, c.project, room, c.sessionEpoch.ID, int64(after))
		if err != nil {
			return rpcAnswer{}, err
		}
		messages := make([]any, len(said))
		for i, one := range said {
			messages[i] = sayingPayload(one)
		}
		return rpcAnswer{P: map[string]any{"messages": messages}, Room: room, EventType: "room.history"}, nil
	}, nil
}

// sayingPayload returns the payload of a remembered message, as in its room.message.
func sayingPayload(s db.LobbySaying) map[string]any {
	p := map[string]any{"type": "say", "data": s.Data}
	wire.AddText(p, "from", s.SessionID)
	delivery.AddSaying(p, s.Number, s.SaidAt.UnixMilli(), s.SessionID, s.Player)
	return p
}
