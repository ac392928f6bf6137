// Package realtime puts a load on the realtime lobby of a director and measures its answers, over the WebSocket
// protocol of Nexis. [Echo] answers without a director, to measure the costs of the protocol itself. The package
// knows only the protocol.
package realtime

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/sdk/lobby"
)

// Scenarios of this package. URLs are the base URLs of listeners of the realtime lobby, Token is that of a project, and
// WarmUp is ignored where all sessions act at once. The director must serve its conformance rooms.
var Scenarios = []bench.Scenario{
	scenario("rooms-patch", "a member changes the state of a room: until a member on the next replica has the patch",
		bench.Load{Callers: 200, Rate: 500}, 2, (*load).patch),
	// There are few callers: each change is an event for each of them, and a session may send 100 frames a second.
	scenario("rooms-hot", "all callers change the state of one room: until the change is durable",
		bench.Load{Callers: 32}, 1, (*load).change),
	scenario("rooms-match", "two clients on two replicas queue: from the second one until both know their match",
		bench.Load{Callers: 64, Rate: 50}, 2, (*load).match),
	scenario("rooms-join", "--sessions join one new room at once: until each knows all members",
		bench.Load{Callers: 1, Sessions: 1000}, 0, (*load).join),
	scenario("rooms-storm", "the connections of --sessions end, and all resume at the next replica at once: until each\n"+
		"has its room's state", bench.Load{Callers: 1, Sessions: 5000}, 0, (*load).storm),
	scenario("rooms-idle", "--sessions are connected and idle, and one calls ten times: a call is a second, and costs what\n"+
		"the director uses in it", bench.Load{Callers: 1, Sessions: 10_000}, 1, (*load).idle),
}

// scenario is one whose callers have so many clients. Without any, all sessions act at once.
func scenario(name, about string, usual bench.Load, clients int,
	turn func(*load, context.Context, *bench.Caller) error) bench.Scenario {
	s := bench.Scenario{Name: name, About: about, Usual: usual, IsAlone: clients == 0, Kind: lobby.CodeOf}
	if s.IsAlone {
		s.Check = checkSessions
	}
	return bench.Define(s, func(_ context.Context, job *bench.Job) *load {
		job.Enter("connecting clients")
		token, callers := job.Options.Token, job.Options.Load.Callers
		l := &load{job: job, callers: NewCrowd(token, callers*clients), sessions: NewCrowd(token, job.Options.Load.Sessions)}
		l.callers.perOwner = clients
		l.callers.roomSize = map[string]int{"rooms-patch": clients, "rooms-hot": callers}[name]
		if name == "rooms-match" {
			l.callers.matches = make([]atomic.Pointer[string], callers*clients)
		}
		if name != "rooms-storm" {
			l.sessions.roomSize = 0
		}
		// Before the clients connect: when one cannot, those that did are disconnected.
		job.OnEnd(l.end)
		return l
	}, turn, (*load).connect)
}

// checkSessions validates what a scenario needs whose caller moves all sessions at once.
func checkSessions(o *bench.Options) error {
	o.WarmUp = 0 // a turn takes seconds: it would be the only one
	if o.Load.Sessions == 0 {
		return fmt.Errorf("%s has one caller, which lets all sessions act at once: there must be some", o.Scenario.Name)
	}
	return nil
}

// load is a run in progress.
type load struct {
	job      *bench.Job
	callers  *Crowd // of their clients
	sessions *Crowd
	turns    int   // that a caller of a scenario with one caller has taken
	frames   int64 // that clients received in the turns of join
}

// connectTimeout is until all clients are connected.
const connectTimeout = 2 * time.Minute

// connect opens all sessions and lets them join their rooms.
func (l *load) connect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	if err := l.callers.Join(ctx, l.job.Options.URLs); err != nil {
		return err
	}
	return l.sessions.Join(ctx, l.job.Options.URLs)
}

// client returns one of a caller's clients.
func (l *load) client(c *bench.Caller, n int) *lobby.Client {
	return l.callers.clients[c.Number*l.callers.perOwner+n]
}

// room returns the room of a caller.
func (l *load) room(c *bench.Caller) string { return l.callers.room(c.Number * l.callers.perOwner) }

// end lets callers leave their rooms, so that no later run pays for members who are away, and ends all connections.
func (l *load) end(ctx context.Context) error {
	if l.callers.roomSize > 0 {
		_ = l.callers.leave(ctx, l.callers.room)
	}
	l.callers.Cut()
	l.sessions.Cut()
	if l.frames > 0 { // only join counts them
		l.job.Values["frames"] = float64(l.frames) / float64(l.turns)
	}
	return nil
}

// increment is a message that adds one to the counter of a room.
var increment = map[string]any{"type": "inc", "data": map[string]any{"by": 1}}

// patch changes a room and waits until the member on the next replica has the patch.
func (l *load) patch(ctx context.Context, c *bench.Caller) error {
	here, there, room := l.client(c, 0), l.client(c, 1), l.room(c)
	return c.Timed("patch", func() error {
		seq := there.Room(room).State().Seq
		if err := here.Call(ctx, "room.message", room, increment, nil); err != nil {
			return err
		}
		return awaitSeq(ctx, there, room, seq)
	})
}

// change changes the room of all callers.
func (l *load) change(ctx context.Context, c *bench.Caller) error {
	return c.Timed("change", func() error {
		return l.client(c, 0).Call(ctx, "room.message", l.room(c), increment, nil)
	})
}

// match lets two clients meet, in a queue of their own. The first one waits before the second enqueues, which is
// measured. Then both take back their invitations, so that runs do not collect them.
func (l *load) match(ctx context.Context, c *bench.Caller) error {
	first, second, n := l.client(c, 0), l.client(c, 1), c.Number*l.callers.perOwner
	queue := map[string]any{"roomType": fmt.Sprintf("bench-%s-%d", l.job.ID, c.Number), "size": 2}
	enqueue := func(one *lobby.Client) error { return one.Call(ctx, "matchmaking.enqueue", "", queue, nil) }
	if err := c.Unmeasured(func() error { return enqueue(first) }); err != nil {
		return err
	}
	var room, other string
	if err := c.Timed("match", func() (err error) {
		if err := enqueue(second); err != nil {
			return err
		}
		if room, err = l.callers.awaitMatch(ctx, n); err != nil {
			return err
		}
		if other, err = l.callers.awaitMatch(ctx, n+1); err != nil {
			return err
		}
		if room != other {
			return fmt.Errorf("one client was matched into room %s, another one into %s", room, other)
		}
		return nil
	}); err != nil {
		return err
	}
	return c.Unmeasured(func() error {
		if err := first.Room(room).Leave(ctx); err != nil {
			return err
		}
		return second.Room(room).Leave(ctx)
	})
}

// join lets all sessions join a new room at once, and leave it.
func (l *load) join(ctx context.Context, c *bench.Caller) error {
	l.turns++ // there is one caller
	room := fmt.Sprintf("%s:%s-join-%d", roomType, l.job.ID, l.turns)
	if err := c.Timed("join", func() error {
		frames, err := l.sessions.meet(ctx, room)
		l.frames += frames
		return err
	}); err != nil {
		return err
	}
	return c.Unmeasured(func() error { return l.sessions.leave(ctx, func(int) string { return room }) })
}

// stormPause is the time between two storms: a session may be taken over ten times in ten seconds.
const stormPause = 2 * time.Second

// storm ends all connections and resumes all sessions at the next replica.
func (l *load) storm(ctx context.Context, c *bench.Caller) error {
	l.turns++
	url := l.job.Options.URLs[l.turns%len(l.job.Options.URLs)]
	if err := c.Unmeasured(func() error {
		defer l.sessions.Cut()
		return bench.Pause(ctx, stormPause)
	}); err != nil {
		return err
	}
	return c.Timed("resume", func() error {
		_, err := l.sessions.Resume(ctx, url)
		return err
	})
}

// idle lasts a second, in which one client calls now and then: a call costs what the director uses for idle sessions in
// that time.
func (l *load) idle(ctx context.Context, c *bench.Caller) error {
	return c.LastForSecond("echo", func() error {
		return l.client(c, 0).Call(ctx, "echo", "", map[string]any{"n": 1}, nil)
	})
}
