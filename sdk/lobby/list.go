package lobby

import "context"

// RoomQuery says which rooms a list has. With Filter, Joinable or Order it is a search among the newest rooms of the
// type, which is required then.
type RoomQuery struct {
	RoomType string `json:"room_type,omitempty"`
	// Filter says what each key of the metadata must be: a value, a list of values, or bounds such as {"min": 5}.
	Filter   map[string]any `json:"filter,omitempty"`
	Joinable bool           `json:"joinable,omitempty"` // only rooms that are neither locked nor full
	Order    string         `json:"order,omitempty"`    // of a search: newest (the default), members, free, id
	Limit    int            `json:"limit,omitempty"`    // at most 1,000, or 200 of a search; 0: the most
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
	return c.listRooms(ctx, listRequest{RoomQuery: q})
}

// listRequest is the body of room.list.
type listRequest struct {
	RoomQuery

	Subscribe bool `json:"subscribe,omitempty"` // to the changes of the list
}

func (c *Client) listRooms(ctx context.Context, body listRequest) (rooms []ListedRoom, next string, err error) {
	var answer struct {
		Rooms []ListedRoom `json:"rooms"`
		Next  string       `json:"next"`
	}
	err = c.Repeat(ctx, "room.list", "", body, &answer)
	return answer.Rooms, answer.Next, err
}
