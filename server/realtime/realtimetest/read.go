package realtimetest

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"
)

// readFrames takes frames until the connection closes.
func (c *Client) readFrames(l *link) {
	for {
		kind, frame, err := l.ws.Read(context.Background())
		if err != nil {
			c.noteClosed(l, err)
			return
		}
		for _, reply := range c.takeFrame(l, kind, frame) {
			if !c.options.NeverAcks {
				_ = c.writeEvent(context.Background(), l, reply) // an error shows with the next read
			}
		}
	}
}

// noteClosed notes how a connection ended. One that was replaced has no calls any more.
func (c *Client) noteClosed(l *link, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.closed, l.status = true, -1
	if ce := (websocket.CloseError{}); errors.As(err, &ce) {
		l.status = ce.Code
	}
	if l == c.link {
		c.failPending()
	}
	c.signalChange()
}

// failPending ends the RPCs of a connection that gets no more answers. The caller holds mu.
func (c *Client) failPending() {
	for rid, waits := range c.pending {
		close(waits.answer)
		delete(c.pending, rid)
	}
}

// takeFrame takes a frame, and returns what the client answers.
func (c *Client) takeFrame(l *link, kind websocket.MessageType, frame []byte) (replies []Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer c.signalChange()
	if l != c.link {
		return nil // the SDK reads its last connection only
	}
	if (kind == websocket.MessageBinary) != l.wire.binary() {
		c.violationf("a frame of %s is %v", l.wire.name(), kind)
	}
	// The SDK has no listener yet in these milliseconds, and loses what arrives.
	if !l.wrote && !c.options.Late && time.Since(l.opened) < deaf {
		c.violationf("a frame right behind handshake.ok: %q", frame)
	}
	e, problems, err := l.wire.decode(frame)
	if err != nil {
		c.violationf("%v: %q", err, frame)
		return nil
	}
	for _, problem := range problems {
		c.violationf("%s in %s", problem, e.Type)
	}
	c.events = append(c.events, e)
	switch e.Type {
	case "rpc.response":
		c.answered(e)
		return nil
	case "state.snapshot":
		return c.takeSnapshot(e)
	case "state.patch":
		return c.takePatch(e)
	}
	c.takePresence(e)
	return nil
}

// answered gives an RPC its answer. The client forgets a room that it has left.
func (c *Client) answered(e Event) {
	waits := c.pending[e.RID]
	if waits == nil {
		c.violationf("Unknown RPC rid: %q", e.RID)
		return
	}
	delete(c.pending, e.RID)
	if waits.kind == "room.leave" && Response(e.P).OK() {
		delete(c.rooms, waits.room)
	}
	waits.answer <- e.P
}

// deaf is how long the client hears nothing after handshake.ok, unless it has sent a frame: the SDK swaps its listeners
// then. The server holds its frames for 30 ms; a loaded machine may deliver handshake.ok later than what follows it.
const deaf = 10 * time.Millisecond
