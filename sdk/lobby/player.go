package lobby

import (
	"context"
	"encoding/json"
)

// PlayerMessage is a message to the player, also one that was sent while it was away.
type PlayerMessage struct {
	Type       string          `json:"type"`
	Data       json.RawMessage `json:"data"`
	From       string          `json:"from"`        // the session that sent it; "": the studio's backend
	FromPlayer string          `json:"from_player"` // the name in its token
	Number     int64           `json:"number"`      // of the messages to the player; the same if one arrives twice
	At         int64           `json:"at"`          // milliseconds since 1970
}

func (PlayerMessage) isEvent() {}

// SendTo sends a message to a player, also one who is not connected, and returns how many of its connections it has
// reached. It is not repeated. Errors: those of [Client.Call].
func (c *Client) SendTo(ctx context.Context, player, kind string, data any) (reached int, err error) {
	var answer struct{ Reached int }
	err = c.Call(ctx, "player.message", "", fields{"player": player, "type": kind, "data": data}, &answer)
	return answer.Reached, err
}

// Inbox returns the last messages to the player, the oldest first: those with a number behind after. Errors: those of
// [Client.Repeat].
func (c *Client) Inbox(ctx context.Context, after int64) ([]PlayerMessage, error) {
	var answer struct{ Messages []PlayerMessage }
	err := c.Repeat(ctx, "player.history", "", fields{"after": after}, &answer)
	return answer.Messages, err
}

// MarkRead says that the player has read its messages up to a number: later sessions are not sent them again. Errors:
// those of [Client.Repeat].
func (c *Client) MarkRead(ctx context.Context, number int64) error {
	return c.Repeat(ctx, "player.read", "", fields{"number": number}, nil)
}

// Block keeps another player from inviting this one and from writing to it. The other is not notified. Errors: [*Error]
// with too_many_blocks; those of [Client.Repeat].
func (c *Client) Block(ctx context.Context, player string) error {
	return c.Repeat(ctx, "player.block", "", fields{"player": player}, nil)
}

// Unblock takes a Block back. Errors: those of [Client.Repeat].
func (c *Client) Unblock(ctx context.Context, player string) error {
	return c.Repeat(ctx, "player.unblock", "", fields{"player": player}, nil)
}

// Blocked returns the players that this one blocks. Errors: those of [Client.Repeat].
func (c *Client) Blocked(ctx context.Context) ([]string, error) {
	var answer struct{ Players []string }
	err := c.Repeat(ctx, "player.blocked", "", fields{}, &answer)
	return answer.Players, err
}
