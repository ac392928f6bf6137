package realtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/sdk/lobby"
)

// crowdRoom is the number of clients of a crowd in one room of Join.
const crowdRoom = 20

// Crowd is clients that do the same at once. Not safe for concurrent use.
type Crowd struct {
	name    string // part of the names of its rooms
	token   string
	clients []*lobby.Client // nil: never connected
}

// NewCrowd returns a crowd of n clients that are not connected, with the token of a project or "".
func NewCrowd(token string, n int) *Crowd {
	return &Crowd{rand.Text()[:10], token, make([]*lobby.Client, n)}
}

// Connect opens a session for each client, spread over replicas.
func (c *Crowd) Connect(ctx context.Context, urls []string) error {
	return bench.Concurrently(ctx, len(c.clients), Dialers, func(ctx context.Context, i int) (err error) {
		c.clients[i], err = dial(ctx, urls[i%len(urls)], c.token, lobby.Options{})
		return err
	})
}

// Join opens a session for each client, spread over replicas, and lets each join a room of twenty. It returns when each
// has the state of its room.
func (c *Crowd) Join(ctx context.Context, urls []string) error {
	if err := c.Connect(ctx, urls); err != nil {
		return err
	}
	return bench.Concurrently(ctx, len(c.clients), Dialers, func(ctx context.Context, i int) error {
		return enter(ctx, c.clients[i], c.room(i))
	})
}

// room is the room of Join of a client.
func (c *Crowd) room(i int) string { return fmt.Sprintf("%s:%s-%d", roomType, c.name, i/crowdRoom) }

// Cut ends all connections as if the process were killed.
func (c *Crowd) Cut() {
	var closing sync.WaitGroup
	for _, client := range c.clients {
		if client != nil {
			closing.Go(client.Close)
		}
	}
	closing.Wait()
}

// Resume resumes the sessions of all clients at a replica, after their connections have ended. It returns when each
// client has the state of its room of Join, with the time that passed until then. A session that is not resumed is an
// error.
func (c *Crowd) Resume(ctx context.Context, url string) (time.Duration, error) {
	start := time.Now()
	c.Cut() // clients of a killed replica would try it again and again
	err := bench.Concurrently(ctx, len(c.clients), Dialers, func(ctx context.Context, i int) error {
		client, err := dial(ctx, url, c.token, lobby.Options{Session: c.clients[i].Status().Session})
		if err != nil {
			return err
		}
		c.clients[i] = client
		if client.Status().Resumed == 0 {
			return errNotResumed
		}
		return awaitSeq(ctx, client, c.room(i), 0)
	})
	return time.Since(start), err
}

// errNotResumed is the failure of a client that got a new session.
var errNotResumed = &bench.Failure{Kind: "not resumed"}

// Meet lets all clients join one room at once. It returns when each knows all members, with the number of frames that
// the clients have received.
func (c *Crowd) Meet(ctx context.Context, room string) (frames int64, err error) {
	before := c.frames()
	err = bench.Concurrently(ctx, len(c.clients), 0, func(ctx context.Context, i int) error {
		client := c.clients[i]
		if err := enter(ctx, client, room); err != nil {
			return err
		}
		return client.Await(ctx, func() bool { return len(client.Room(room).State().Sessions) == len(c.clients) })
	})
	return c.frames() - before, err
}

// Part lets all clients leave a room.
func (c *Crowd) Part(ctx context.Context, room string) error {
	return bench.Concurrently(ctx, len(c.clients), 0, func(ctx context.Context, i int) error {
		return c.clients[i].Room(room).Leave(ctx)
	})
}

// frames counts what all clients have received so far.
func (c *Crowd) frames() (total int64) {
	for _, client := range c.clients {
		if client != nil {
			total += client.Status().Frames
		}
	}
	return total
}
