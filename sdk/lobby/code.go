package lobby

import "context"

// JoinByCode joins the room that has a code, such as "KX7-4ZM", also a private one, and waits for its state. Errors:
// [*Error] with code_unknown, room_full, room_locked, banned, rate_limited; those of [Client.Repeat].
func (c *Client) JoinByCode(ctx context.Context, code string, options JoinOptions) (*Room, error) {
	return c.joinRoom(ctx, "room.join", "", fields{"code": code, "options": options}, options)
}

// RoomCode is what opens a room to everybody who knows it.
type RoomCode struct {
	Code string `json:"code"`
	Link string `json:"link"` // with the code in it; "" unless the type of the room has one
}

// Code returns the code of the room, and makes one if there is none: the owner, or in a room without one any member.
// Errors: [*Error] with refused; those of [Client.Repeat].
func (r *Room) Code(ctx context.Context) (code RoomCode, err error) {
	err = r.client.Repeat(ctx, "room.code", r.ID, fields{}, &code)
	return code, err
}

// RenewCode gives the room another code: the old one admits nobody any more. For the owner. Errors: as Code.
func (r *Room) RenewCode(ctx context.Context) (code RoomCode, err error) {
	err = r.client.Repeat(ctx, "room.code", r.ID, fields{"renew": true}, &code)
	return code, err
}

// RemoveCode takes the code away. For the owner. Errors: as Code.
func (r *Room) RemoveCode(ctx context.Context) error {
	return r.client.Repeat(ctx, "room.code", r.ID, fields{"remove": true}, nil)
}
