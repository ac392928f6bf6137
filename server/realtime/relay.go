package realtime

import "context"

// relayRPCs returns what is relayed without being stored, and what belongs on the game server and is refused.
func (s *Server) relayRPCs() map[string]rpc {
	all := map[string]rpc{"echo": echo, "position.update": refuse, "input.delta": refuse, "aim.update": refuse}
	if s.options.Conformance {
		all["position.update"] = position
	}
	return all
}

// echo sends a message back. With the conformance switch, the members of the room on this replica get it, too.
func echo(_ context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.roomID()
	if failed != nil {
		return nil, failed
	}
	frame := newShared(outgoing{Type: e.Type, Room: room, P: e.P})
	if room == "" || !c.server.options.Conformance || !c.hub.relay(c, room, frame) {
		c.push(pushEvent, room, frame)
	}
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// position relays a message to the members of a room on this replica, the sender too, as far as that is possible.
func position(_ context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.neededRoom()
	if failed != nil {
		return nil, failed
	}
	c.hub.relay(c, room, newShared(outgoing{Type: e.Type, Room: room, P: e.P}))
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// refuse refuses what a game server does.
func refuse(context.Context, *conn, envelope) (func() (answer, error), error) {
	return nil, failRefused
}
