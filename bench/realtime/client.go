package realtime

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/coder/websocket"
)

// Client is a client of the realtime lobby, with the codec json. It acknowledges snapshots and patches at once, as the
// SDK does. Safe for concurrent use.
type Client struct {
	ID string // of its session

	ws   *websocket.Conn
	done chan struct{} // closed when the connection has ended

	frames atomic.Int64 // received

	matches chan json.RawMessage // the last match.found that was not taken; its room is not known before

	mu      sync.Mutex
	next    int
	waiting map[string]chan answer // by rid
	events  map[eventKey]chan json.RawMessage
}

// eventKey identifies the events that somebody waits for.
type eventKey struct{ kind, room string }

// frame is an envelope of the protocol.
type frame struct {
	Version int             `json:"v"`
	Type    string          `json:"t"`
	RID     string          `json:"rid,omitempty"`
	Room    string          `json:"room,omitempty"`
	P       json.RawMessage `json:"p,omitempty"`
}

type answer struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Code  string `json:"code"`
}

// refused is an answer that is not ok.
type refused struct{ text, code string }

func (r refused) Error() string { return r.text }

// Kind is counted in the result of a run.
func (r refused) Kind() string { return r.code }

var errDisconnected = errors.New("the connection has ended")

const readLimit = 1 << 20

// Dial connects to a replica, whose URL begins with http, and opens a session. With the id of a session it asks to
// resume that session. ctx bounds the handshake.
func Dial(ctx context.Context, url, token, session string) (c *Client, resumed bool, err error) {
	ws, _, err := websocket.Dial(ctx, url, nil) //nolint:bodyclose // Dial closes it
	if err != nil {
		return nil, false, err
	}
	ws.SetReadLimit(readLimit)
	c = &Client{ws: ws, done: make(chan struct{}), matches: make(chan json.RawMessage, 1),
		waiting: map[string]chan answer{}, events: map[eventKey]chan json.RawMessage{}}
	if resumed, err = c.shakeHands(ctx, token, session); err != nil {
		_ = ws.CloseNow()
		return nil, false, err
	}
	go c.read() //nolint:gosec // ctx is of the handshake
	return c, resumed, nil
}

func (c *Client) shakeHands(ctx context.Context, token, session string) (resumed bool, err error) {
	hello := map[string]any{"v": 1, "codecs": []string{"json"}, "project_id": project, "token": token}
	if session != "" {
		hello["session_id"] = session
	}
	text, err := json.Marshal(hello)
	if err == nil {
		err = c.ws.Write(ctx, websocket.MessageText, text)
	}
	if err != nil {
		return false, err
	}
	_, text, err = c.ws.Read(ctx)
	if err != nil {
		return false, err
	}
	var f frame
	var p struct {
		Session string `json:"session_id"`
		Resumed bool   `json:"resumed"`
		Reason  string `json:"reason"`
	}
	if err := errors.Join(json.Unmarshal(text, &f), json.Unmarshal(f.P, &p)); err != nil {
		return false, err
	}
	if f.Type != "handshake.ok" {
		return false, fmt.Errorf("the handshake was refused: %s", p.Reason)
	}
	c.ID = p.Session
	return p.Resumed, nil
}

// Close ends the connection as if the process were killed, and waits until it has ended.
func (c *Client) Close() {
	_ = c.ws.CloseNow()
	<-c.done
}

// unread is part of the frames that no load waits for. Decoding them would take most of its CPU.
var unread = []byte(`"t":"room.message"`)

func (c *Client) read() {
	defer close(c.done)
	for {
		_, text, err := c.ws.Read(context.Background())
		if err != nil {
			return
		}
		c.frames.Add(1)
		if bytes.Contains(text, unread) {
			continue
		}
		var f frame
		if json.Unmarshal(text, &f) != nil || c.take(f) != nil {
			_ = c.ws.CloseNow()
			return
		}
	}
}

// take handles a frame.
func (c *Client) take(f frame) error {
	switch f.Type {
	case "rpc.response":
		var a answer
		if err := json.Unmarshal(f.P, &a); err != nil {
			return err
		}
		c.mu.Lock()
		waiter := c.waiting[f.RID]
		delete(c.waiting, f.RID)
		c.mu.Unlock()
		if waiter != nil {
			waiter <- a
		}
	case "state.snapshot", "state.patch":
		if err := c.acknowledge(f); err != nil {
			return err
		}
	}
	c.tell(eventKey{f.Type, f.Room}, f.P)
	return nil
}

func (c *Client) acknowledge(f frame) error {
	var p struct {
		Seq      int64  `json:"seq"`
		Checksum string `json:"checksum,omitempty"`
	}
	if err := json.Unmarshal(f.P, &p); err != nil {
		return err
	}
	ack, err := json.Marshal(p)
	if err != nil {
		return err
	}
	return c.write(context.Background(), frame{Version: 1, Type: "state.ack", Room: f.Room, P: ack})
}

// tell gives an event to whoever waits for it; of several that nobody has taken yet it keeps the last.
func (c *Client) tell(key eventKey, p json.RawMessage) {
	c.mu.Lock()
	defer c.mu.Unlock()
	events := c.events[key]
	switch {
	case key.kind == "match.found":
		events = c.matches
	case events == nil && key.kind == "state.snapshot": // after a resume it may come before somebody follows it
		events = make(chan json.RawMessage, 1)
		c.events[key] = events
	case events == nil:
		return
	}
	select {
	case <-events:
	default:
	}
	events <- p
}

// follow returns a channel that holds the last event of a kind and room that was not taken. It stays until
// forget.
func (c *Client) follow(kind, room string) <-chan json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := eventKey{kind, room}
	if c.events[key] == nil {
		c.events[key] = make(chan json.RawMessage, 1)
	}
	return c.events[key]
}

// forget ends following the events of a room.
func (c *Client) forget(room string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	maps.DeleteFunc(c.events, func(key eventKey, _ chan json.RawMessage) bool { return key.room == room })
}

// await waits for an event of follow.
func (c *Client) await(ctx context.Context, events <-chan json.RawMessage) (json.RawMessage, error) {
	select {
	case p := <-events:
		return p, nil
	case <-c.done:
		return nil, errDisconnected
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *Client) write(ctx context.Context, f frame) error {
	text, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return c.ws.Write(ctx, websocket.MessageText, text)
}

// call makes a call and waits for its answer.
func (c *Client) call(ctx context.Context, kind, room string, p any) error {
	body, err := json.Marshal(p)
	if err != nil {
		return err
	}
	waiter := make(chan answer, 1)
	c.mu.Lock()
	c.next++
	rid := strconv.Itoa(c.next)
	c.waiting[rid] = waiter
	c.mu.Unlock()
	if err := c.write(ctx, frame{Version: 1, Type: kind, RID: rid, Room: room, P: body}); err != nil {
		return err
	}
	select {
	case a := <-waiter:
		if !a.OK {
			return refused{a.Error, a.Code}
		}
		return nil
	case <-c.done:
		return errDisconnected
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Join joins a room, made if there is none, and waits for its snapshot.
func (c *Client) Join(ctx context.Context, roomType, room string) error {
	snapshots := c.follow("state.snapshot", room)
	if err := c.call(ctx, "room.join_or_create", room, map[string]any{"roomType": roomType}); err != nil {
		return err
	}
	_, err := c.await(ctx, snapshots)
	return err
}

// Leave leaves a room, or takes back an invitation to it, and stops following its events.
func (c *Client) Leave(ctx context.Context, room string) error {
	err := c.call(ctx, "room.leave", room, map[string]any{})
	c.forget(room)
	return err
}

// Snapshot waits for the next snapshot of a room that the client has joined, as after it was resumed.
func (c *Client) Snapshot(ctx context.Context, room string) error {
	_, err := c.await(ctx, c.follow("state.snapshot", room))
	return err
}

// awaitMembers waits for a list of so many members of a room.
func (c *Client) awaitMembers(ctx context.Context, lists <-chan json.RawMessage, n int) error {
	for {
		p, err := c.await(ctx, lists)
		if err != nil {
			return err
		}
		var list struct {
			Count int `json:"count"`
		}
		if err := json.Unmarshal(p, &list); err != nil || list.Count == n {
			return err
		}
	}
}
