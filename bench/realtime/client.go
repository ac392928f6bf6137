package realtime

import (
	"context"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/sdk/lobby"
)

// client is a client of the realtime lobby that knows the last match that it was not asked for yet. Safe for concurrent
// use.
type client struct {
	lobby   *lobby.Client
	matches chan string // the room; nil: of a client that waits for none
}

// withCode gives a refusal of the director its kind.
func withCode(err error) error {
	if code := lobby.CodeOf(err); code != "" {
		return &bench.Failure{Kind: code, Err: err}
	}
	return err
}

// dial connects to a replica and opens a session. With the id of a session it resumes that session. ctx bounds the
// handshake.
func dial(ctx context.Context, url, token, session string) (*client, error) {
	c, err := lobby.Connect(ctx, lobby.Options{URLs: []string{url}, Token: lobby.StaticToken(token), Session: session,
		Project: project})
	if err != nil {
		return nil, withCode(err)
	}
	return &client{lobby: c}, nil
}

// dialForMatches connects a client that waits for matches. Others decode no events, which would cost the load more than
// everything else that it does.
func dialForMatches(ctx context.Context, url, token string) (*client, error) {
	matches := make(chan string, 1)
	c, err := lobby.Connect(ctx, lobby.Options{URLs: []string{url}, Token: lobby.StaticToken(token), Project: project,
		OnEvent: func(event lobby.Event) {
			match, isMatch := event.(lobby.MatchFound)
			if !isMatch {
				return
			}
			select { // keeps the last one
			case <-matches:
			default:
			}
			matches <- match.Room
		}})
	if err != nil {
		return nil, withCode(err)
	}
	return &client{c, matches}, nil
}

// call makes a call and waits for its answer.
func (c *client) call(ctx context.Context, kind, room string, p any) error {
	return withCode(c.lobby.Call(ctx, kind, room, p, nil))
}

// enter joins a room, made if there is none, and waits for its state.
func (c *client) enter(ctx context.Context, room string) error {
	_, err := c.lobby.Join(ctx, roomType, room, lobby.JoinOptions{})
	return withCode(err)
}

// leave leaves a room, or takes back an invitation to it.
func (c *client) leave(ctx context.Context, room string) error {
	return withCode(c.lobby.Room(room).Leave(ctx))
}

// awaitSeq waits for a state of a room behind a change.
func (c *client) awaitSeq(ctx context.Context, room string, seq int64) error {
	return c.lobby.Await(ctx, func() bool { return c.lobby.Room(room).State().Seq > seq })
}

// awaitMembers waits until the client knows so many members of a room.
func (c *client) awaitMembers(ctx context.Context, room string, n int) error {
	return c.lobby.Await(ctx, func() bool { return len(c.lobby.Room(room).State().Sessions) == n })
}

// awaitMatch waits until the client knows its match, and returns the room.
func (c *client) awaitMatch(ctx context.Context) (string, error) {
	select {
	case room := <-c.matches:
		return room, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// Dialers is how many handshakes clients make at a time.
const Dialers = 64

const (
	project  = "bench"
	roomType = "counter_plugin_room"

	dialTimeout = 2 * time.Minute // until all clients are connected
)
