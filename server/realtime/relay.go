package realtime

import (
	"context"

	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

// relayRPCs returns what is relayed without being stored, and what belongs on the game server and is refused.
func (s *Server) relayRPCs() map[string]rpc {
	all := map[string]rpc{"echo": echoFrame, "position.update": refuseGameMessage, "input.delta": refuseGameMessage,
		"aim.update": refuseGameMessage}
	if s.options.Conformance {
		all["position.update"] = relayPosition
	}
	return all
}

// echoFrame sends a message back. With the conformance switch, the other members of the room on this replica get it, too,
// if the sender is one.
func echoFrame(_ context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.RoomID()
	if failed != nil {
		return nil, failed
	}
	frame := wire.NewSharedFrame(wire.Outgoing{Type: e.Type, Room: room, P: e.P})
	relayed := room != "" && c.server.options.Conformance && c.hub.RelayFrame(c, room, frame)
	// The sender has got what was relayed, as one of the members.
	if !relayed {
		c.Push(delivery.PushEvent, room, frame)
	}
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// relayPosition relays a message to the members of a room on this replica, the sender too. If the sender is none of them,
// nobody gets it.
func relayPosition(_ context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	c.hub.RelayFrame(c, room, wire.NewSharedFrame(wire.Outgoing{Type: e.Type, Room: room, P: e.P}))
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// refuseGameMessage refuses a message that belongs on the game server.
func refuseGameMessage(context.Context, *conn, wire.Envelope) (func() (rpcAnswer, error), error) {
	return nil, wire.FailRefused
}
