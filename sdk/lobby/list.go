package lobby

import "context"

// RoomQuery says which rooms a list has. With Filter, Joinable or Order it is a search among the newest rooms of the
// type, which is required then.
type RoomQuery struct {
	RoomType string `json:"room_type,omitempty"`
	// Filter says what each key of the metadata must be: a value, a list of values, or bounds such as {"min": 5}.
	Filter   map[string]any `json:"filter,omitempty"`
	Joinable bool           `json:"joinable,omitempty"` // neither locked nor full
	Order    string         `json:"order,omitempty"`    // of a search: newest (the default), members, free, id
	Limit    int            `json:"limit,omitempty"`    // at most 1,000, of a search 200; 0: as many
	After    string         `json:"after,omitempty"`    // what List returned for the page before. Not with a search
}

// ListedRoom is a room of a list.
type ListedRoom struct {
	ID         string         `json:"id"`
	RoomType   string         `json:"room_type"`
	Members    int            `json:"members"`
	MaxMembers int            `json:"max_members"`
	Locked     bool           `json:"locked"`
	Metadata   map[string]any `json:"metadata"` // what the maker of the room says of it
}

// List returns rooms that are not private. next is the After of the next page, "" behind the last. Errors: [*Error]
// with invalid; those of [Client.Repeat].
func (c *Client) List(ctx context.Context, q RoomQuery) (rooms []ListedRoom, next string, err error) {
	return c.listRooms(ctx, q, false)
}

func (c *Client) listRooms(ctx context.Context, q RoomQuery, subscribe bool) ([]ListedRoom, string, error) {
	body := struct {
		RoomQuery

		Subscribe bool `json:"subscribe,omitempty"`
	}{q, subscribe}
	var answer struct {
		Rooms []ListedRoom `json:"rooms"`
		Next  string       `json:"next"`
	}
	err := c.Repeat(ctx, "room.list", "", body, &answer)
	return answer.Rooms, answer.Next, err
}

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

// RoomChange is what the owner changes of a room. What is nil or 0 stays.
type RoomChange struct {
	Private    *bool          `json:"private,omitempty"`
	Locked     *bool          `json:"locked,omitempty"`
	MaxMembers int            `json:"max_members,omitempty"`
	Metadata   map[string]any `json:"metadata,omitempty"` // replaces all of it
}

// Update changes the room. For the owner of a party or a lobby. Errors: [*Error] with refused, invalid; those of
// [Client.Repeat].
func (r *Room) Update(ctx context.Context, change RoomChange) error {
	return r.client.Repeat(ctx, "room.update", r.ID, change, nil)
}
