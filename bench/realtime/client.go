package realtime

import (
	"context"
	"time"

	"github.com/lattice-director/director/sdk/lobby"
)

// Dialers is how many handshakes clients make at a time.
const Dialers = 64

const (
	project  = "bench"
	roomType = "counter_plugin_room"

	dialTimeout = 2 * time.Minute // until all clients are connected
)

// dial connects to a replica. The options have what distinguishes the client: the session that it resumes, and what it
// does with events. Without OnEvent it decodes none, which would cost the load more than everything else that it does.
func dial(ctx context.Context, url, token string, o lobby.Options) (*lobby.Client, error) {
	o.URLs, o.Token, o.Project = []string{url}, lobby.StaticToken(token), project
	return lobby.Connect(ctx, o)
}

// enter joins a room, made if there is none, and waits for its state.
func enter(ctx context.Context, c *lobby.Client, room string) error {
	_, err := c.Join(ctx, roomType, room, lobby.JoinOptions{})
	return err
}

// awaitSeq waits for a state of a room behind a change.
func awaitSeq(ctx context.Context, c *lobby.Client, room string, seq int64) error {
	return c.Await(ctx, func() bool { return c.Room(room).State().Seq > seq })
}

// lastMatch has the room of the last match that a client was told of, and not asked for yet.
type lastMatch chan string

// keep is an OnEvent. It never blocks, which would stop the client.
func (m lastMatch) keep(event lobby.Event) {
	match, isMatch := event.(lobby.MatchFound)
	if !isMatch {
		return
	}
	select { // a client that was matched again has no use for the match before
	case <-m:
	default:
	}
	m <- match.Room
}

// await waits until the client knows its match, and returns the room.
func (m lastMatch) await(ctx context.Context) (string, error) {
	select {
	case room := <-m:
		return room, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}
