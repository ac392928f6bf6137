package realtime

import (
	"context"
	"encoding/base64"
	"encoding/json"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
)

const (
	defaultRoomType = "echo_room"
	maxMessageBytes = 8 << 10 // of a room.message.bytes
	maxMessageType  = 128     // bytes
)

// roomRPCs returns the RPCs of rooms.
func (s *Server) roomRPCs() map[string]rpc {
	return map[string]rpc{
		"room.join_or_create": join,
		"room.leave":          leave,
		"room.list":           list,
		"room.message":        message,
		"room.plugin.call":    message,
		"room.message.bytes":  messageBytes,
		"state.resync":        resync,
	}
}

// inRoom begins an action of the session in a room. after gets the answer when it is queued.
func (c *conn) inRoom(ctx context.Context, a db.LobbyAction, room string, after func(db.LobbyAnswer)) func() (answer, error) {
	a.Region, a.Project, a.Session, a.Room = c.region, c.project, c.session, room
	wait := c.server.store.BeginInLobby(ctx, a)
	return func() (answer, error) {
		did, err := wait()
		if err != nil {
			return answer{}, err
		}
		p, _ := did.Answer.(map[string]any)
		return answer{P: p, Room: room, After: func() { after(did) }}, nil
	}
}

func join(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
	roomType, failed := e.roomType(defaultRoomType)
	if failed != nil {
		return nil, failed
	}
	room, failed := e.joinedRoom(roomType)
	if failed != nil {
		return nil, failed
	}
	options, size := map[string]json.RawMessage{}, 0
	for name, v := range e.options() {
		options[name] = rawJSON(v)
		size += len(name) + len(options[name])
	}
	act := c.server.options.Rooms.Join(lobby.Join{Type: roomType, Session: c.session.ID, Player: c.player, Options: options})
	finish := c.inRoom(ctx, db.LobbyAction{Make: true, Act: act, Bytes: size}, room, func(did db.LobbyAnswer) { c.hub.joined(c, did) })
	return func() (answer, error) {
		a, err := finish()
		a.P = with(a.P, "room", room)
		return a, err
	}, nil
}

func with(p map[string]any, name string, v any) map[string]any {
	if p == nil {
		p = map[string]any{}
	}
	p[name] = v
	return p
}

func leave(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.neededRoom()
	if failed != nil {
		return nil, failed
	}
	action := db.LobbyAction{Act: c.server.options.Rooms.Leave(c.session.ID)}
	return c.inRoom(ctx, action, room, func(did db.LobbyAnswer) { c.hub.left(c, did) }), nil
}

func message(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.neededRoom()
	if failed != nil {
		return nil, failed
	}
	kind, failed := messageType(e)
	if failed != nil {
		return nil, failed
	}
	return c.say(ctx, room, lobby.Message{Type: kind, Data: rawJSON(e.fields()["data"])}), nil
}

// messageType returns the type of a message; a number becomes text.
func messageType(e envelope) (string, *failure) {
	kind := e.fields()["type"]
	text, is := kind.(string)
	if _, number := kind.(float64); number {
		text, is = string(rawJSON(kind)), true
	}
	if !is || text == "" || len(text) > maxMessageType {
		return "", invalid("type", "has to be a number or a string of 1 to 128 bytes")
	}
	return text, nil
}

func messageBytes(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.neededRoom()
	if failed != nil {
		return nil, failed
	}
	kind, failed := messageType(e)
	if failed != nil {
		return nil, failed
	}
	encoded, is := e.fields()["data_b64"].(string)
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	switch {
	case !is || err != nil:
		return nil, invalid("data_b64", "has to be padded standard base64")
	case len(raw) > maxMessageBytes:
		return nil, &failure{Code: codeTooLarge, Text: "payload exceeds maximum size", Field: "data_b64"}
	}
	return c.say(ctx, room, lobby.Message{Type: kind, Data: rawJSON(encoded), Bytes: true}), nil
}

func (c *conn) say(ctx context.Context, room string, m lobby.Message) func() (answer, error) {
	m.Session, m.Player = c.session.ID, c.player
	return c.inRoom(ctx, db.LobbyAction{Act: c.server.options.Rooms.Message(m), Bytes: len(m.Data)}, room, c.hub.answered)
}

// resync asks for a snapshot. Without a rid it is ignored in a room that the session has left.
func resync(_ context.Context, c *conn, e envelope) (func() (answer, error), error) {
	room, failed := e.neededRoom()
	switch {
	case failed != nil:
		return nil, failed
	case !c.hub.resync(c, room) && e.RID != "":
		return nil, lobby.ErrNotMember
	}
	return nil, nil //nolint:nilnil // there is nothing to wait for
}

// ack handles a state.ack, which has no answer.
func (c *conn) ack(e envelope) {
	room, failed := e.neededRoom()
	seq, is := e.fields()["seq"].(float64)
	if failed != nil || !is {
		c.fail(e, invalid("seq", "has to be a number, of a room"))
		return
	}
	checksum, _ := e.fields()["checksum"].(string)
	c.hub.ack(c, room, seq, checksum)
	if e.RID != "" {
		c.answer(e, answer{}, nil)
	}
}

const maxListed = 1000 // rooms of a page

func list(ctx context.Context, c *conn, e envelope) (func() (answer, error), error) {
	roomType, failed := e.roomType("")
	if failed != nil {
		return nil, failed
	}
	after, _ := e.fields()["after"].(string)
	q := db.LobbyQuery{
		Region: c.region, Project: c.project, Type: roomType, After: after, Limit: integer(e.fields()["limit"], maxListed, 1, maxListed),
	}
	return func() (answer, error) {
		page, err := c.server.store.ListLobbies(ctx, q)
		if err != nil {
			return answer{}, err
		}
		listed := make([]any, 0, len(page.Rooms))
		for _, room := range page.Rooms {
			listed = append(listed, map[string]any{"id": room.ID, "room_type": room.Type, "members": room.Members})
		}
		p := map[string]any{"rooms": listed}
		if page.Next != "" {
			p["next"] = page.Next
		}
		return answer{P: p, Event: "room.list"}, nil
	}, nil
}
