package realtime

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lattice-director/director/bench"
)

// increment is a message that adds one to the counter of a room.
var increment = map[string]any{"type": "inc", "data": map[string]any{"by": 1}}

// patch changes a room and waits until the member on the next replica has the patch.
func (l *load) patch(ctx context.Context, t bench.Turn) error {
	here, there := l.callers[t.Caller()][0], l.callers[t.Caller()][1]
	room := l.room(t.Caller())
	return t.Timed("patch", func() error {
		seq := there.Room(room).State().Seq
		if err := here.call(ctx, "room.message", room, increment); err != nil {
			return err
		}
		return there.awaitSeq(ctx, room, seq)
	})
}

// change changes the room of all callers.
func (l *load) change(ctx context.Context, t bench.Turn) error {
	return t.Timed("change", func() error {
		return l.callers[t.Caller()][0].call(ctx, "room.message", l.room(t.Caller()), increment)
	})
}

// match lets two clients meet, in a queue of their own. The first one waits before the second enqueues, which is
// measured.
func (l *load) match(ctx context.Context, t bench.Turn) error {
	clients := l.callers[t.Caller()]
	queue := map[string]any{"roomType": fmt.Sprintf("bench-%s-%d", l.name, t.Caller()), "size": len(clients)}
	enqueue := func(c *Client) error {
		return c.call(ctx, "matchmaking.enqueue", "", queue)
	}
	if err := t.Unmeasured(func() error { return enqueue(clients[0]) }); err != nil {
		return err
	}
	var room string
	if err := t.Timed("match", func() (err error) {
		if err = enqueue(clients[1]); err == nil {
			room, err = found(ctx, clients)
		}
		return err
	}); err != nil {
		return err
	}
	return t.Unmeasured(func() error { return leave(ctx, clients, room) })
}

// found waits until all clients know their match, and returns its room.
func found(ctx context.Context, clients []*Client) (string, error) {
	rooms := make([]string, len(clients))
	all, ctx := errgroup.WithContext(ctx)
	for i, c := range clients {
		all.Go(func() (err error) {
			rooms[i], err = c.matched(ctx)
			return err
		})
	}
	if err := all.Wait(); err != nil {
		return "", err
	}
	for _, room := range rooms {
		if room != rooms[0] {
			return "", fmt.Errorf("one client was matched into room %s, another one into %s", rooms[0], room)
		}
	}
	return rooms[0], nil
}

// matched waits until the client knows its match, and returns the room.
func (c *Client) matched(ctx context.Context) (string, error) {
	select {
	case room := <-c.matches:
		return room, nil
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// leave takes back the invitations to the room of a match, so that runs do not collect them.
func leave(ctx context.Context, clients []*Client, room string) error {
	for _, c := range clients {
		if err := c.leave(ctx, room); err != nil {
			return err
		}
	}
	return nil
}

// join lets all sessions join a new room at once, and leave it.
func (l *load) join(ctx context.Context, t bench.Turn) error {
	l.turns++
	room := fmt.Sprintf("%s:%s-join-%d", roomType, l.name, l.turns)
	if err := t.Timed("join", func() error {
		frames, err := l.crowd.Meet(ctx, room)
		l.frames += frames
		return err
	}); err != nil {
		return err
	}
	return t.Unmeasured(func() error { return l.crowd.Part(ctx, room) })
}

// stormPause is the time between two storms: a session may be taken over ten times in ten seconds.
const stormPause = 2 * time.Second

// storm ends all connections and resumes all sessions at the next replica.
func (l *load) storm(ctx context.Context, t bench.Turn) error {
	l.turns++
	url := l.URLs[l.turns%len(l.URLs)]
	if err := t.Unmeasured(func() error {
		defer l.crowd.Cut()
		return bench.Pause(ctx, stormPause)
	}); err != nil {
		return err
	}
	return t.Timed("resume", func() error {
		_, err := l.crowd.Resume(ctx, url)
		return err
	})
}

// callsPerSecond is how often idle calls.
const callsPerSecond = 10

// idle lasts a second, in which one client calls now and then: a call costs what the director uses for idle sessions in
// that time.
func (l *load) idle(ctx context.Context, t bench.Turn) error {
	c := l.callers[t.Caller()][0]
	for range callsPerSecond {
		if err := t.Unmeasured(func() error { return bench.Pause(ctx, time.Second/callsPerSecond) }); err != nil {
			return err
		}
		if err := t.Timed("echo", func() error {
			return c.call(ctx, "echo", "", map[string]any{"n": 1})
		}); err != nil {
			return err
		}
	}
	return nil
}
