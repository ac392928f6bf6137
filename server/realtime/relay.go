package realtime

import (
	"context"

	"github.com/lattice-director/director/server/realtime/delivery"
	"github.com/lattice-director/director/server/realtime/wire"
)

// relayRPCs returns what is relayed without being stored, and what belongs on the game server and is refused.
func (s *Server) relayRPCs() map[string]rpc {
	all := map[string]rpc{"echo": echoFrame, "position.update": refuseMessage, "input.delta": refuseMessage,
		"aim.update": refuseMessage}
	if s.options.Conformance {
		all["position.update"] = relayPosition
	}
	return all
}

// echoFrame sends a message back. With the conformance switch, the members of the room on this replica get it, too.
func echoFrame(_ context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.RoomID()
	if failed != nil {
		return nil, failed
	}
	frame := wire.NewSharedFrame(wire.Outgoing{Type: e.Type, Room: room, P: e.P})
	// RelayFrame reaches the sender, too, if it is a member here.
	if room == "" || !c.server.options.Conformance || !c.hub.RelayFrame(c, room, frame) {
		c.Push(delivery.PushEvent, room, frame)
	}
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// relayPosition relays a message to the members of a room on this replica, the sender too, as far as that is possible.
func relayPosition(_ context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	c.hub.RelayFrame(c, room, wire.NewSharedFrame(wire.Outgoing{Type: e.Type, Room: room, P: e.P}))
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// refuseMessage refuses a message that belongs on the game server.
func refuseMessage(context.Context, *conn, wire.Envelope) (func() (rpcAnswer, error), error) {
	return nil, wire.FailRefused
}
