package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/coder/websocket"
)

const (
	maxFrame   = 1 << 20 // bytes of a frame of the server
	dialFor    = 5 * time.Second
	firstPause = 250 * time.Millisecond // before a replica is tried again; each further pause is twice as long
	lastPause  = 3 * time.Second
)

// frame is a message in both directions.
type frame struct {
	Version int             `json:"v"`
	Type    string          `json:"t"`
	RID     string          `json:"rid,omitempty"` // of a request and its answer
	Room    string          `json:"room,omitempty"`
	P       json.RawMessage `json:"p,omitempty"`
}

// hello is the first frame of a client.
type hello struct {
	Version int      `json:"v"`
	Codecs  []string `json:"codecs"`
	Token   string   `json:"token"`
	Session string   `json:"session_id,omitempty"` // to resume
}

// write sends a frame. An error shows with the next read, which ends the connection.
func write(ctx context.Context, ws *websocket.Conn, v any) {
	if raw, err := json.Marshal(v); err == nil {
		_ = ws.Write(ctx, websocket.MessageText, raw)
	}
}

// openSocket connects to a replica, with the session that the client has.
func (c *Client) openSocket(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, dialFor)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, url, nil)
	if err != nil {
		return err
	}
	ws.SetReadLimit(maxFrame)
	session := c.Status().Session
	write(ctx, ws, hello{Version: 1, Codecs: []string{"json"}, Token: c.options.Token, Session: session})
	_, raw, err := ws.Read(ctx)
	if err == nil {
		err = c.welcomed(ws, url, raw)
	}
	if err != nil {
		_ = ws.CloseNow()
	}
	return err
}

// welcomed reads the answer to a handshake.
func (c *Client) welcomed(ws *websocket.Conn, url string, raw []byte) error {
	var first frame
	var p struct {
		Session string `json:"session_id"`
		Resumed bool   `json:"resumed"`
		Reason  string `json:"reason"`
		Code    string `json:"code"`
	}
	if err := errors.Join(json.Unmarshal(raw, &first), json.Unmarshal(first.P, &p)); err != nil {
		return err
	}
	if first.Type != "handshake.ok" {
		return &Error{p.Code, p.Reason}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.Resumed {
		c.status.Resumed++
	} else {
		clear(c.rooms) // the session is another one, which is in no room
	}
	c.ws, c.status.Session, c.status.URL, c.status.Connected = ws, p.Session, url, true
	c.signal()
	return nil
}

// run reads until the connection ends, and connects again, until ctx ends or the token is refused.
func (c *Client) run(ctx context.Context) {
	defer close(c.ended)
	var err error
	for err == nil {
		c.read(ctx)
		err = c.reopen(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = fmt.Errorf("the client has ended: %w", err)
	c.signal()
}

// reopen connects to the replicas by turns. Errors: ctx ended; the token or its key was refused, which no other replica
// would accept.
func (c *Client) reopen(ctx context.Context) error {
	for wait := firstPause; ; wait = min(2*wait, lastPause) {
		for _, url := range c.otherMembers() {
			err := c.openSocket(ctx, url)
			refused := (*Error)(nil)
			if err == nil || errors.As(err, &refused) &&
				(refused.Code == "token_refused" || refused.Code == "key_refused") {
				return err
			}
		}
		if !pause(ctx, wait) {
			return ctx.Err()
		}
	}
}

// pause returns false if ctx ended first.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// read takes the frames of a connection until it ends.
func (c *Client) read(ctx context.Context) {
	for {
		_, raw, err := c.ws.Read(ctx) // only this goroutine changes c.ws
		if err != nil {
			break
		}
		var f frame
		if json.Unmarshal(raw, &f) == nil {
			c.take(ctx, f)
		}
	}
	_ = c.ws.CloseNow()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ws, c.status.Connected = nil, false
	for rid, waits := range c.calls {
		waits <- reply{err: ErrDisconnected}
		delete(c.calls, rid)
	}
	c.signal()
}

func (c *Client) take(ctx context.Context, f frame) {
	switch f.Type {
	case "rpc.response":
		c.answer(f)
	case "state.snapshot", "state.patch":
		if answer, ok := c.state(f); ok {
			write(ctx, c.ws, answer)
		}
	default:
		c.presence(f)
		if c.options.OnEvent != nil {
			c.options.OnEvent(Event{f.Type, f.Room, f.P})
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.signal()
	}
}

func (c *Client) answer(f frame) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if waits, ok := c.calls[f.RID]; ok {
		waits <- reply{p: f.P}
		delete(c.calls, f.RID)
	}
}
