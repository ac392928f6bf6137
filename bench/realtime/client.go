package realtime

import (
	"context"

	"github.com/lattice-director/director/sdk/lobby"
)

// Client is a client of the realtime lobby that knows the last match that it was not asked for yet. Safe for concurrent
// use.
type Client struct {
	*lobby.Client

	matches chan string // the room; nil: of a client that waits for none
}

// refused is a failure that a run counts by its kind.
type refused struct{ text, code string }

func (r refused) Error() string { return r.text }

// Kind is counted in the result of a run.
func (r refused) Kind() string { return r.code }

// counted gives a refusal of the director its kind.
func counted(err error) error {
	if code := lobby.CodeOf(err); code != "" {
		return refused{err.Error(), code}
	}
	return err
}

// Dial connects to a replica and opens a session. With the id of a session it resumes that session. ctx bounds the
// handshake.
func Dial(ctx context.Context, url, token, session string) (*Client, error) {
	return dial(ctx, lobby.Options{URLs: []string{url}, Token: lobby.StaticToken(token), Session: session})
}

// dialForMatches connects a client that waits for matches. Others decode no events, which would cost the load more than
// everything else that it does.
func dialForMatches(ctx context.Context, url, token string) (*Client, error) {
	matches := make(chan string, 1)
	c, err := dial(ctx, lobby.Options{URLs: []string{url}, Token: lobby.StaticToken(token),
		OnEvent: keepMatch(matches)})
	if err != nil {
		return nil, err
	}
	c.matches = matches
	return c, nil
}

func dial(ctx context.Context, o lobby.Options) (*Client, error) {
	o.Project = project
	client, err := lobby.Connect(ctx, o)
	if err != nil {
		return nil, counted(err)
	}
	return &Client{Client: client}, nil
}

// keepMatch keeps the room of the last match.
func keepMatch(matches chan string) func(lobby.Event) {
	return func(event lobby.Event) {
		found, is := event.(lobby.MatchFound)
		if !is {
			return
		}
		select {
		case <-matches:
		default:
		}
		matches <- found.Room
	}
}

// id is that of the client's session.
func (c *Client) id() string { return c.Status().Session }

// call makes a call and waits for its answer.
func (c *Client) call(ctx context.Context, kind, room string, p any) error {
	return counted(c.Call(ctx, kind, room, p, nil))
}

// enter joins a room, made if there is none, and waits for its state.
func (c *Client) enter(ctx context.Context, roomType, room string) error {
	_, err := c.Join(ctx, roomType, room, lobby.JoinOptions{})
	return counted(err)
}

// leave leaves a room, or takes back an invitation to it.
func (c *Client) leave(ctx context.Context, room string) error {
	return counted(c.Room(room).Leave(ctx))
}

// awaitSeq waits for a state of a room behind a change.
func (c *Client) awaitSeq(ctx context.Context, room string, seq int64) error {
	return c.Await(ctx, func() bool { return c.Room(room).State().Seq > seq })
}

// awaitMembers waits until the client knows so many members of a room.
func (c *Client) awaitMembers(ctx context.Context, room string, n int) error {
	return c.Await(ctx, func() bool { return len(c.Room(room).State().Sessions) == n })
}
