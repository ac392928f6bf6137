package realtimetest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/coder/websocket"
)

// Client is a connected client, over all its connections. Safe for concurrent use.
type Client struct {
	options Options

	mu         sync.Mutex
	changed    chan struct{} // closed and replaced with each change
	link       *link         // the current connection
	session    string
	events     []Event
	rooms      map[string]*Room
	pending    map[string]*call
	nextRID    int
	violations []string
	resyncs    int
}

// call is an RPC that has no answer yet.
type call struct {
	kind, room string
	answer     chan Response
}

// link is one connection of a client.
type link struct {
	ws      *websocket.Conn
	wire    wire
	resumed bool
	opened  time.Time // when handshake.ok was read
	wrote   bool      // a frame was sent since
	closed  bool
	status  websocket.StatusCode // after closed; -1: no close frame

	writing sync.Mutex
}

// SessionID returns the id of the session.
func (c *Client) SessionID() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.session
}

// Resumed reports whether the last handshake has resumed the session.
func (c *Client) Resumed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.link.resumed
}

// CloseStatus returns the close code of the current connection; 0 while it is open, -1 if there was no close frame.
func (c *Client) CloseStatus() websocket.StatusCode {
	c.mu.Lock()
	defer c.mu.Unlock()
	return (&View{c}).Closed()
}

// Resyncs returns how often the client had to ask for a snapshot.
func (c *Client) Resyncs() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resyncs
}

// HeardEvents returns all that the server has sent, in order.
func (c *Client) HeardEvents() []Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.events)
}

// EventsOf returns the events of a kind in a room, or in any room if it is empty.
func (c *Client) EventsOf(kind, room string) []Event {
	return slices.DeleteFunc(c.HeardEvents(),
		func(e Event) bool { return e.Type != kind || room != "" && e.Room != room })
}

// Room returns what the client knows of a room; the zero value if that is nothing.
func (c *Client) Room(id string) Room {
	c.mu.Lock()
	defer c.mu.Unlock()
	if r := c.rooms[id]; r != nil {
		return r.clone()
	}
	return Room{}
}

// Violations returns what the server has done wrong so far. final: nothing is under way any more, so that an RPC
// without an answer and a gap without a snapshot are violations, too.
func (c *Client) Violations(final bool) []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	found := slices.Clone(c.violations)
	// Until the end, answers and snapshots may be on their way.
	if !final {
		return found
	}
	// The server owes nothing on a connection that is closed.
	if !c.link.closed {
		for rid := range c.pending {
			found = append(found, fmt.Sprintf("%s has no answer", rid))
		}
	}
	for id, r := range c.rooms {
		if r.Gap {
			found = append(found, fmt.Sprintf("a gap in %s was not healed", id))
		}
	}
	return found
}

// violationf notes what the server has done wrong. The caller holds mu.
func (c *Client) violationf(format string, args ...any) {
	c.violations = append(c.violations, fmt.Sprintf(format, args...))
}

// RPC sends a request and waits for its answer. Errors: the connection is closed; ctx ended.
func (c *Client) RPC(ctx context.Context, kind, room string, p map[string]any) (Response, error) {
	_, wait := c.Begin(ctx, kind, room, p)
	return wait()
}

var errClosed = errors.New("socket closed")

// Begin sends a request; wait waits for its answer.
func (c *Client) Begin(ctx context.Context, kind, room string,
	p map[string]any) (rid string, wait func() (Response, error)) {
	answer := make(chan Response, 1)
	c.mu.Lock()
	c.nextRID++
	rid = "rpc-" + strconv.Itoa(c.nextRID)
	l := c.link
	if l.closed { // the kernel may still take a frame
		c.mu.Unlock()
		return rid, func() (Response, error) { return nil, errClosed }
	}
	c.pending[rid] = &call{kind, room, answer}
	c.mu.Unlock()
	err := c.writeEvent(ctx, l, Event{Type: kind, RID: rid, Room: room, P: p})
	return rid, func() (Response, error) {
		if err != nil {
			return nil, err
		}
		select {
		case r, ok := <-answer:
			if !ok {
				return nil, errClosed
			}
			return r, nil
		case <-ctx.Done():
			return nil, fmt.Errorf("%s %s: %w", kind, rid, ctx.Err())
		}
	}
}

// Send sends a message without rid, such as room.message.
func (c *Client) Send(ctx context.Context, kind, room string, p map[string]any) error {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	return c.writeEvent(ctx, l, Event{Type: kind, Room: room, P: p})
}

// SendRaw sends a frame as it is.
func (c *Client) SendRaw(ctx context.Context, frame []byte) error {
	c.mu.Lock()
	l := c.link
	l.wrote = true
	c.mu.Unlock()
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.ws.Write(ctx, websocket.MessageBinary, frame)
}

// writeEvent sends a message as binary, whatever the codec, as the SDK does.
func (c *Client) writeEvent(ctx context.Context, l *link, e Event) error {
	c.mu.Lock()
	l.wrote = true
	c.mu.Unlock()
	l.writing.Lock()
	defer l.writing.Unlock()
	return l.ws.Write(ctx, websocket.MessageBinary, l.wire.encode(e))
}

// Await waits until the client is as it should be. The function must call no method of the client but those of its
// argument.
func (c *Client) Await(ctx context.Context, what string, done func(*View) bool) error {
	for {
		ok, changed := c.lookAt(done)
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", what, ctx.Err())
		}
	}
}

func (c *Client) lookAt(done func(*View) bool) (ok bool, changed <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return done(&View{c}), c.changed
}

// View is a client as the function of [Client.Await] sees it.
type View struct{ c *Client }

// Room returns a room, which must not be changed or kept. An unknown room is empty: an answer to a join comes before
// the room's members and state.
func (v *View) Room(id string) *Room {
	if r := v.c.rooms[id]; r != nil {
		return r
	}
	return &Room{}
}

// Events returns the log, which must not be changed or kept.
func (v *View) Events() []Event { return v.c.events }

// Count returns the number of events of a type about a room; "" is any.
func (v *View) Count(kind, room string) int {
	n := 0
	for _, e := range v.c.events {
		if e.Type == kind && (room == "" || e.Room == room) {
			n++
		}
	}
	return n
}

// Closed returns the close code of the current connection; 0 while it is open, -1 if there was no close frame.
func (v *View) Closed() websocket.StatusCode {
	if !v.c.link.closed {
		return 0
	}
	return v.c.link.status
}

// signalChange wakes those who await. The caller holds mu.
func (c *Client) signalChange() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// Close closes the connection as a browser does.
func (c *Client) Close() {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	_ = l.ws.Close(websocket.StatusNormalClosure, "")
}

// Drop cuts the connection without a close frame.
func (c *Client) Drop() {
	c.mu.Lock()
	l := c.link
	c.mu.Unlock()
	_ = l.ws.CloseNow()
}
