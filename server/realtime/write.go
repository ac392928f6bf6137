package realtime

import (
	"context"

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
		p, code, ok := c.unsent()
		for _, frame := range p.frames {
			if c.writeFrame(frame) != nil {
				c.cut()
				return
			}
		}
		switch {
		case ok:
			c.feed()
		case code != 0:
			c.sendClose(code)
			return
		default:
			return
		}
	}
}

// unsent takes a parcel. If there is none, the writer returns, after it has sent a close frame if there is a code.
func (c *conn) unsent() (p parcel, code websocket.StatusCode, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if p, ok = c.out.take(); ok {
		if c.out.halfFree() {
			c.space.Broadcast()
		}
		return p, 0, true
	}
	c.writing, code = false, c.closeAs
	c.closeAs = 0
	return p, code, false
}

func (c *conn) writeFrame(frame []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.server.options.timing.write)
	defer cancel()
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
