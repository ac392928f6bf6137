// Package client is a small client of the realtime lobby in Go: it keeps a session over any number of connections,
// makes requests, and keeps the state of the session's rooms. docs/nexis.md describes the messages. Clients in browsers
// and in Node use the TypeScript SDK of Nexis instead.
//
// client.go has what callers use, connection.go connects and reads, room.go keeps the states, and token.go is what a
// game's backend does.
package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"

	"github.com/coder/websocket"
)

// Options configure a [Client]. URLs and Token are required.
type Options struct {
	URLs  []string // of the replicas, such as ws://127.0.0.1:4000. The client connects to the first that accepts it
	Token string   // see [Backend]
	// OnEvent, if it is not nil, is called with each event but states and answers, in their order and one at a time. It
	// must not wait for the client.
	OnEvent func(Event)
}

// Event is a message of the server that answers no request, such as room.message or match.found.
type Event struct {
	Type string // "t" of the frame
	Room string // "" if it is about no room
	P    json.RawMessage
}

// Error is a request or a handshake that the server has refused.
type Error struct {
	Code string // stable, such as "room_full"
	Text string
}

// Error implements error.
func (e *Error) Error() string { return fmt.Sprintf("%s (%s)", e.Text, e.Code) }

// ErrDisconnected means that the connection ended before the answer arrived: the request may have been carried out or
// not.
var ErrDisconnected = errors.New("the connection ended before the answer arrived")

// Client is a session of the lobby. When its connection ends, it connects again, by turns to all URLs, and resumes its
// session with all rooms. Safe for concurrent use.
type Client struct {
	options Options
	end     context.CancelFunc
	ended   chan struct{}

	mu      sync.Mutex
	changed chan struct{}   // closed and replaced with each change
	ws      *websocket.Conn // nil: not connected
	status  Status
	rooms   map[string]Room
	calls   map[string]chan reply
	nextRID int
	err     error // why the client has ended
}

// Status says how a client is connected.
type Status struct {
	Session   string // its id
	URL       string // of the replica that it is connected to, or was last
	Connected bool
	Resumed   int // how often it has resumed the session after a connection had ended
}

// Connect opens a session. The caller closes the client. Errors: [*Error] for a token that is refused; no URL can be
// reached.
func Connect(ctx context.Context, o Options) (*Client, error) {
	c := &Client{options: o, ended: make(chan struct{}), changed: make(chan struct{}), rooms: map[string]Room{},
		calls: map[string]chan reply{}}
	var failed error
	for _, url := range o.URLs {
		err := c.openSocket(ctx, url)
		if err == nil {
			running, end := context.WithCancel(context.WithoutCancel(ctx))
			c.end = end
			go c.run(running)
			return c, nil
		}
		failed = errors.Join(failed, fmt.Errorf("%s: %w", url, err))
	}
	return nil, failed
}

// Close ends the connection. The session ends when its time to live is over.
func (c *Client) Close() {
	c.end()
	<-c.ended
}

// Status returns how the client is connected now.
func (c *Client) Status() Status {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.status
}

// Room returns what the client knows of a room in which its session is.
func (c *Client) Room(id string) (r Room, member bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r, member = c.rooms[id]
	return r.clone(), member
}

// Await waits until a condition holds. It is judged after each event, state, and change of the connection. Errors: ctx
// ended, or the client.
func (c *Client) Await(ctx context.Context, holds func() bool) error {
	for {
		c.mu.Lock()
		changed, err := c.changed, c.err
		c.mu.Unlock()
		if holds() {
			return nil
		}
		if err != nil {
			return err
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// signal wakes all [Client.Await]. The caller holds the lock.
func (c *Client) signal() {
	close(c.changed)
	c.changed = make(chan struct{})
}

// reply is the p of an rpc.response, or why there is none.
type reply struct {
	p   json.RawMessage
	err error
}

// Call makes a request and decodes its answer into answer, unless that is nil. It waits while the client is not
// connected. Errors: [*Error], [ErrDisconnected]; ctx ended.
func (c *Client) Call(ctx context.Context, kind, room string, p, answer any) error {
	if err := c.Await(ctx, func() bool { return c.Status().Connected }); err != nil {
		return err
	}
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	waits := make(chan reply, 1)
	c.mu.Lock()
	c.nextRID++
	rid, ws := "rpc-"+strconv.Itoa(c.nextRID), c.ws
	if ws == nil {
		c.mu.Unlock()
		return ErrDisconnected
	}
	c.calls[rid] = waits
	c.mu.Unlock()
	write(ctx, ws, frame{Version: 1, Type: kind, RID: rid, Room: room, P: body})
	select {
	case r := <-waits:
		return r.decode(answer)
	case <-ctx.Done():
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(c.calls, rid)
		return ctx.Err()
	}
}

func (r reply) decode(answer any) error {
	if r.err != nil {
		return r.err
	}
	var status struct {
		OK    bool   `json:"ok"`
		Error string `json:"error"`
		Code  string `json:"code"`
	}
	if err := json.Unmarshal(r.p, &status); err != nil {
		return err
	}
	if !status.OK {
		return &Error{status.Code, status.Error}
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(r.p, answer)
}

// Repeat makes a request again after the connection had ended or where the server was not available. Only requests that
// may be carried out twice should be repeated: room.join_or_create, room.leave, matchmaking.enqueue,
// matchmaking.dequeue and match.resolve. Errors: those of [Client.Call].
func (c *Client) Repeat(ctx context.Context, kind, room string, p, answer any) error {
	for {
		err := c.Call(ctx, kind, room, p, answer)
		refused := (*Error)(nil)
		if !errors.Is(err, ErrDisconnected) && !(errors.As(err, &refused) && refused.Code == "unavailable") {
			return err
		}
		if !pause(ctx, firstPause) {
			return ctx.Err()
		}
	}
}

// Join joins a room, or makes it, and waits for its state. Errors: those of [Client.Call].
func (c *Client) Join(ctx context.Context, roomType, id string, options any) error {
	if err := c.Repeat(ctx, "room.join_or_create", id, map[string]any{"roomType": roomType, "options": options},
		nil); err != nil {
		return err
	}
	return c.Await(ctx, func() bool { _, member := c.Room(id); return member })
}

// Send sends a message to a room and waits until the room has accepted it. Errors: those of [Client.Call].
func (c *Client) Send(ctx context.Context, room, kind string, data any) error {
	return c.Call(ctx, "room.message", room, map[string]any{"type": kind, "data": data}, nil)
}

// otherMembers returns the URLs, beginning behind the last one that was used.
func (c *Client) otherMembers() []string {
	urls := c.options.URLs
	i := slices.Index(urls, c.Status().URL) + 1
	return slices.Concat(urls[i:], urls[:i])
}
