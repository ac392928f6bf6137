package realtime

import (
	"context"
	"time"

	"github.com/coder/websocket"
)

// startWriter is called with mu locked.
func (c *conn) startWriter() {
	if c.writing || c.held || len(c.out.queue) == 0 && (!c.closing || c.closeAs == 0) {
		return
	}
	c.writing = true
	c.running.Go(func() {
		c.protect("realtime writer", func() error {
			c.write()
			return nil
		})
	})
}

// write sends the outbox, and then the close frame if the connection ends. Only this goroutine writes messages.
func (c *conn) write() {
	for {
		if c.writeBurst() != nil {
			c.cut()
			return
		}
		if code, done := c.rest(); done {
			if code != 0 {
				c.sendClose(code)
			}
			return
		}
	}
}

// writeBurst writes what is queued, in few system calls.
func (c *conn) writeBurst() error {
	stalled := time.AfterFunc(c.server.options.timing.write, c.cut)
	defer stalled.Stop()
	c.cork.hold()
	for p, ok := c.unsent(); ok; p, ok = c.unsent() {
		for _, frame := range p.frames {
			if err := c.writeFrame(context.Background(), frame); err != nil {
				return err
			}
			stalled.Reset(c.server.options.timing.write)
		}
		c.delivered(p)
		c.feed()
	}
	return c.cork.flush()
}

// delivered observes how long a change of a room took to get here.
func (c *conn) delivered(p parcel) {
	if !p.decided.IsZero() {
		c.server.metrics.hub.delivery.Observe(c.server.store.Now().Sub(p.decided).Seconds())
	}
}

// unsent takes a parcel.
func (c *conn) unsent() (p parcel, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	p, ok = c.out.take()
	if c.out.halfFree() {
		c.space.Broadcast()
	}
	return p, ok
}

// rest ends writing if nothing is queued. A close frame goes out then if there is a code.
func (c *conn) rest() (code websocket.StatusCode, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.out.queue) > 0 {
		return 0, false
	}
	c.writing, code = false, c.closeAs
	c.closeAs = 0
	return code, true
}

func (c *conn) writeFrame(ctx context.Context, frame []byte) error {
	kind := websocket.MessageText
	if c.codec.Binary() {
		kind = websocket.MessageBinary
	}
	c.server.metrics.sent.Inc()
	return c.ws.Write(ctx, kind, frame)
}

// feed asks for snapshots of the rooms whose patches were dropped, once there is space for them.
func (c *conn) feed() {
	c.mu.Lock()
	hungry := c.out.hungry()
	c.mu.Unlock()
	for _, room := range hungry {
		c.hub.starved(c, room)
	}
}

// sendClose sends a close frame and waits for that of the client.
func (c *conn) sendClose(code websocket.StatusCode) {
	c.server.metrics.closed(code)
	_ = c.ws.Close(code, c.reason) // how the client closes does not matter
}
