package realtime

import (
	"context"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/sdk/lobby"
)

const (
	// dialers is how many handshakes clients make at a time.
	dialers = 64
	// crowdRoom is the number of clients of a crowd in one room.
	crowdRoom = 20

	project  = "bench"
	roomType = "counter_plugin_room"
)

// Crowd is clients that do the same at once. Not safe for concurrent use.
type Crowd struct {
	name     string // part of the names of its rooms
	token    string
	clients  []*lobby.Client          // nil: never connected
	perOwner int                      // clients of each caller, which are on different replicas
	roomSize int                      // members of each of its rooms; 0: it has none
	matches  []atomic.Pointer[string] // rooms of the clients' last matches; nil: their events are not decoded
}

// NewCrowd returns a crowd of n clients that are not connected, with the token of a project or "".
func NewCrowd(token string, n int) *Crowd {
	return &Crowd{name: rand.Text()[:10], token: token, clients: make([]*lobby.Client, n), perOwner: 1, roomSize: crowdRoom}
}

// Join opens a session for each client, spread over replicas, and lets each join its room. It returns when each has the
// state of its room.
func (c *Crowd) Join(ctx context.Context, urls []string) error {
	err := bench.Concurrently(ctx, len(c.clients), dialers, func(ctx context.Context, i int) (err error) {
		var o lobby.Options
		if c.matches != nil {
			o.OnEvent = func(event lobby.Event) {
				if match, isMatch := event.(lobby.MatchFound); isMatch {
					c.matches[i].Store(&match.Room)
				}
			}
		}
		c.clients[i], err = c.dial(ctx, urls[(i/c.perOwner+i%c.perOwner)%len(urls)], o)
		return err
	})
	if err != nil || c.roomSize == 0 {
		return err
	}
	return bench.Concurrently(ctx, len(c.clients), dialers, func(ctx context.Context, i int) error {
		return enter(ctx, c.clients[i], c.room(i))
	})
}

// dial connects to a replica. The options have what distinguishes the client: the session that it resumes, and what it
// does with events. Without OnEvent it decodes none, which would cost the load more than everything else that it does.
func (c *Crowd) dial(ctx context.Context, url string, o lobby.Options) (*lobby.Client, error) {
	o.URLs, o.Token, o.Project = []string{url}, lobby.StaticToken(c.token), project
	return lobby.Connect(ctx, o)
}

// enter joins a room, made if there is none, and waits for its state.
func enter(ctx context.Context, client *lobby.Client, room string) error {
	_, err := client.Join(ctx, roomType, room, lobby.JoinOptions{})
	return err
}

// room is the room of Join of a client.
func (c *Crowd) room(i int) string { return fmt.Sprintf("%s:%s-%d", roomType, c.name, i/c.roomSize) }

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
	err := bench.Concurrently(ctx, len(c.clients), dialers, func(ctx context.Context, i int) error {
		client, err := c.dial(ctx, url, lobby.Options{Session: c.clients[i].Status().Session})
		if err != nil {
			return err
		}
		c.clients[i] = client
		if client.Status().Resumed == 0 {
			return &bench.Failure{Kind: "not resumed"}
		}
		return awaitSeq(ctx, client, c.room(i), 0)
	})
	return time.Since(start), err
}

// awaitSeq waits for a state of a room behind a change.
func awaitSeq(ctx context.Context, client *lobby.Client, room string, seq int64) error {
	return client.Await(ctx, func() bool { return client.Room(room).State().Seq > seq })
}

// meet lets all clients join one room at once. It returns when each knows all members, with the number of frames that
// the clients have received.
func (c *Crowd) meet(ctx context.Context, room string) (frames int64, err error) {
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

// leave lets all clients that are connected leave their rooms.
func (c *Crowd) leave(ctx context.Context, room func(i int) string) error {
	return bench.Concurrently(ctx, len(c.clients), 0, func(ctx context.Context, i int) error {
		if c.clients[i] == nil {
			return nil
		}
		return c.clients[i].Room(room(i)).Leave(ctx)
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

// awaitMatch waits until a client knows its next match, and returns the room.
func (c *Crowd) awaitMatch(ctx context.Context, i int) (room string, err error) {
	err = c.clients[i].Await(ctx, func() bool {
		found := c.matches[i].Swap(nil)
		if found != nil {
			room = *found
		}
		return found != nil
	})
	return room, err
}
