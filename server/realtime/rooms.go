package realtime

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const defaultRoomType = "echo_room" // of a join that names no type, as in Nexis

// beginInRoom begins an action of the session in a room. after is called with the answer when that is queued.
func (c *conn) beginInRoom(ctx context.Context, a db.LobbyAction, room string,
	after func(db.LobbyAnswer)) func() (rpcAnswer, error) {
	a.Region, a.ProjectID, a.Session, a.RoomID = c.region, c.project, c.sessionEpoch, room
	// Called in the order of frames, so the actions of a connection in a room take effect in that order, although
	// nobody waits for one before the next begins.
	wait := c.server.store.BeginInLobby(ctx, a)
	return func() (rpcAnswer, error) {
		did, err := wait()
		if err != nil {
			return rpcAnswer{Room: room}, err
		}
		p, _ := did.ActionAnswer.(map[string]any)
		return rpcAnswer{P: p, Room: room, AfterQueued: func() { after(did) }}, nil
	}
}

// joinRoom makes the session a member of a room, which it makes if there is none of the id.
func joinRoom(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	roomType, failed := e.RoomType(defaultRoomType)
	if failed != nil {
		return nil, failed
	}
	room, failed := e.JoinedRoom(roomType)
	if failed != nil {
		return nil, failed
	}
	options, size := rawFields(e.PayloadOptions())
	act := c.server.options.RoomTypes.JoinRoom(lobby.Join{RoomType: roomType, Session: c.sessionEpoch.ID,
		Player: c.player, Options: options, AskedAt: c.server.store.Now()})
	finish := c.beginInRoom(ctx, db.LobbyAction{MakesRoom: true, Act: act, RequestBytes: size}, room,
		func(did db.LobbyAnswer) { c.hub.JoinRoom(c, did) })
	return func() (rpcAnswer, error) {
		a, err := finish()
		// A client may join without an id: the answer says which room it is in.
		a.P = addField(a.P, "room", room)
		return a, err
	}, nil
}

// leaveRoom takes the session out of a room, or declines an invitation to it.
func leaveRoom(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	action := db.LobbyAction{Act: c.server.options.RoomTypes.LeaveRoom(c.sessionEpoch.ID, c.player)}
	return c.beginInRoom(ctx, action, room, func(did db.LobbyAnswer) { c.hub.LeaveRoom(c, did) }), nil
}

// sayInRoom begins the action of a message in a room.
func (c *conn) sayInRoom(ctx context.Context, room string, m lobby.Message) func() (rpcAnswer, error) {
	m.Session, m.Player, m.SentAt = c.sessionEpoch.ID, c.player, c.server.store.Now()
	action := db.LobbyAction{Act: c.server.options.RoomTypes.HandleMessage(m), RequestBytes: len(m.Data)}
	return c.beginInRoom(ctx, action, room, c.hub.DeliverAnswer)
}

// resyncRoom asks for a snapshot. Without a rid it is ignored in a room that the session has left.
func resyncRoom(_ context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	isMember := c.hub.RequestSnapshot(c, room)
	if !isMember && e.RID != "" {
		return nil, lobby.ErrNotMember
	}
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// receiveAck handles a state.ack, which has no answer.
func (c *conn) receiveAck(e wire.Envelope) {
	room, failed := e.NeededRoom()
	seq, is := e.PayloadFields()["seq"].(float64)
	if failed != nil || !is {
		c.answerFailure(e, wire.InvalidField("seq", "has to be a number, of a room"))
		return
	}
	checksum, _ := e.PayloadFields()["checksum"].(string)
	c.hub.TakeAck(c, room, seq, checksum)
	// SDKs send acks without a rid; a client that sends one gets an answer.
	if e.RID != "" {
		c.answerFrame(e, rpcAnswer{}, nil)
	}
}

// updateRoom changes a room after it was made.
func updateRoom(ctx context.Context, c *conn, e wire.Envelope) (func() (rpcAnswer, error), error) {
	room, failed := e.NeededRoom()
	if failed != nil {
		return nil, failed
	}
	fields, size := rawFields(e.PayloadFields())
	change, err := lobby.ParseChange(fields)
	if err != nil {
		return nil, err
	}
	act := c.server.options.RoomTypes.UpdateRoom(c.sessionEpoch.ID, change)
	return c.beginInRoom(ctx, db.LobbyAction{Act: act, RequestBytes: size}, room, c.hub.DeliverAnswer), nil
}
