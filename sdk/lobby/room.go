package lobby

import (
	"context"
	"encoding/json"
)

// Room is a handle of a room, of which the client may be a member or not. Safe for concurrent use.
type Room struct {
	ID     string
	client *Client
}

// Room returns the handle of a room.
func (c *Client) Room(id string) *Room { return &Room{id, c} }

// Join joins a room, or makes it, and waits for its state. The id "" is the room that all share who join the type
// without an id. Joining again changes nothing. Errors: [*Error] with room_full, room_locked, not_invited,
// room_not_found, unsupported_room_type, invalid; those of [Client.Repeat].
func (c *Client) Join(ctx context.Context, roomType, id string, options JoinOptions) (*Room, error) {
	return c.joinRoom(ctx, "room.join_or_create", id, fields{"room_type": roomType, "options": options}, options)
}

// joinRoom makes a request that joins a room, and waits for the state. The type of the room is in body or in the
// answer.
func (c *Client) joinRoom(ctx context.Context, request, id string, body fields, options JoinOptions) (*Room, error) {
	var answer struct {
		Room     string `json:"room"`
		RoomType string `json:"room_type"`
	}
	if err := c.Repeat(ctx, request, id, body, &answer); err != nil {
		return nil, err
	}
	if roomType, said := body["room_type"].(string); said {
		answer.RoomType = roomType
	}
	c.noteJoined(answer.Room, answer.RoomType, options)
	room := c.Room(answer.Room)
	return room, c.Await(ctx, func() bool { return room.State().Seq > 0 })
}

func (c *Client) noteJoined(id, roomType string, options JoinOptions) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.memberships[id] == nil {
		c.memberships[id] = &membership{}
	}
	c.memberships[id].roomType, c.memberships[id].joinOptions, c.memberships[id].wasJoined = roomType, options, true
}

// Rooms returns the rooms in which the session is.
func (c *Client) Rooms() []*Room {
	c.mu.Lock()
	defer c.mu.Unlock()
	rooms := make([]*Room, 0, len(c.memberships))
	for id := range c.memberships {
		rooms = append(rooms, &Room{id, c})
	}
	return rooms
}

// State returns what the client knows of the room; the zero value if it is no member.
func (r *Room) State() State {
	r.client.mu.Lock()
	defer r.client.mu.Unlock()
	m := r.client.memberships[r.ID]
	if m == nil {
		return State{}
	}
	m.isLent = true // a copy for each patch would cost more than one for each call
	return m.lastState
}

// Leave leaves the room, or takes back or declines an invitation to it. Errors: those of [Client.Repeat].
func (r *Room) Leave(ctx context.Context) error {
	err := r.client.Repeat(ctx, "room.leave", r.ID, struct{}{}, nil)
	if code := CodeOf(err); code == "not_a_member" || code == "room_not_found" {
		err = nil // the session has left, perhaps by an attempt whose answer was lost
	}
	if err == nil {
		r.client.forgetRoom(r.ID)
	}
	return err
}

func (c *Client) forgetRoom(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.memberships, id)
	c.signalChange()
}

// Send sends a message to the room and waits until the room has accepted it. It is not repeated. Errors: those of
// [Client.Call].
func (r *Room) Send(ctx context.Context, kind string, data any) error {
	return r.sendMessage(ctx, kind, data, nil)
}

func (r *Room) sendMessage(ctx context.Context, kind string, data, answer any) error {
	body, err := json.Marshal(data)
	if err != nil {
		return err
	}
	f := frame{Version: protocolVersion, Type: "room.message", Room: r.ID}
	message := map[string]any{"type": kind, "data": json.RawMessage(body)}
	return r.client.callServer(ctx, "room.message "+kind, f, message, answer)
}

// setValue sends a message that may be sent twice, such as the readiness of a member.
func (r *Room) setValue(ctx context.Context, kind string, data any) error {
	return r.client.repeatWhileDown(ctx, func() error { return r.Send(ctx, kind, data) })
}

// History returns the last lines of chat that the room remembers, the oldest first: those with a number behind after.
// Errors: [*Error] with not_a_member; those of [Client.Repeat].
func (r *Room) History(ctx context.Context, after int64) ([]Message, error) {
	var answer struct {
		Messages []Message `json:"messages"`
	}
	err := r.client.Repeat(ctx, "room.history", r.ID, fields{"after": after}, &answer)
	for i := range answer.Messages {
		answer.Messages[i].Room = r.ID
	}
	return answer.Messages, err
}

// fields are the data of a message.
type fields = map[string]any

// Say sends a line of chat, which all members receive as a [Message] of the type "say". Errors: those of [Room.Send].
func (r *Room) Say(ctx context.Context, text string) error {
	return r.Send(ctx, "say", fields{"text": text})
}

// JoinOptions are what a member says of itself, and what a member that makes a room says of that. The zero value leaves
// everything to the type of the room.
type JoinOptions struct {
	Name string `json:"name,omitempty"` // how parties, lobbies and matches call the member
	// Private and MaxMembers are of a new room. Private: only invited players join, and the list of rooms does not have
	// it.
	Private    *bool          `json:"private,omitempty"`
	MaxMembers int            `json:"max_members,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"` // of a new room: what the list shows of it
	Data       map[string]any `json:"data,omitempty"`     // what all members see of this one, such as its character
	Topic      string         `json:"topic,omitempty"`    // of a new chat
	Settings   map[string]any `json:"settings,omitempty"` // of a new lobby
}
