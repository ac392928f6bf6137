package lobby

import "context"

// Queue is what a session, a party or a lobby queues for.
type Queue struct {
	RoomType string `json:"room_type,omitempty"`
	// Size is the number of players of a match, 2 to 16. 0: of a party or a lobby its members, of a session 2. A room
	// type with a profile has its own.
	Size       int            `json:"size,omitempty"`
	Attributes map[string]any `json:"attributes,omitempty"` // as those of a ticket
	Latencies  map[string]int `json:"latencies,omitempty"`  // milliseconds by region
}

// Place is a place in the queue.
type Place struct {
	RoomType string `json:"room_type"`
	Size     int    `json:"size"`
	Position int    `json:"position"` // 1 is the next; 1000 also for places behind it
}

// Enqueue puts the session into the queue, alone: see [Room.Queue] for a party. [MatchFound] follows, also after a lost
// connection. The same queue again, with the same attributes, keeps the place. Errors: [*Error] with cannot_match,
// profile_unknown, ticket_exists, invalid; those of [Client.Repeat].
func (c *Client) Enqueue(ctx context.Context, q Queue) (p Place, err error) {
	body := fields{"roomType": q.RoomType}
	if q.Size > 0 {
		body["size"] = q.Size
	}
	if q.Attributes != nil {
		body["attributes"] = q.Attributes
	}
	if q.Latencies != nil {
		body["latencies"] = q.Latencies
	}
	err = c.Repeat(ctx, "matchmaking.enqueue", "", body, &p)
	return p, err
}

// Dequeue takes the session out of the queue. It returns false if the session was in none. Errors: [*Error] with
// matched; those of [Client.Repeat].
func (c *Client) Dequeue(ctx context.Context) (removed bool, err error) {
	var answer struct {
		Removed bool `json:"removed"`
	}
	err = c.Repeat(ctx, "matchmaking.dequeue", "", struct{}{}, &answer)
	return answer.Removed, err
}

// Accept accepts the match of a [MatchPending]. Errors: [*Error] with too_late; those of [Client.Repeat].
func (c *Client) Accept(ctx context.Context, matchID string) error {
	return c.Repeat(ctx, "match.accept", "", fields{"match_id": matchID}, nil)
}

// Decline declines the match of a [MatchPending]; the party leaves the queue. Errors: as Accept.
func (c *Client) Decline(ctx context.Context, matchID string) error {
	return c.Repeat(ctx, "match.decline", "", fields{"match_id": matchID}, nil)
}

// Seat is a place on the game server of a match. Its token is a secret of the player.
type Seat struct {
	Endpoint     string `json:"endpoint"`
	SessionID    string `json:"session_id"` // of the game server, not of the lobby
	SessionToken string `json:"session_token"`
}

// Resolve returns the seat of this member of a match. Errors: [*Error] with refused for a match without a game server,
// not_a_member; those of [Client.Repeat].
func (r *Room) Resolve(ctx context.Context) (s Seat, err error) {
	err = r.client.Repeat(ctx, "match.resolve", r.ID, struct{}{}, &s)
	return s, err
}
