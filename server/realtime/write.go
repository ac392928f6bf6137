package realtime

import (
	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/ws"
)

// startWriter starts the goroutine that writes, unless it runs. mu is locked.
func (c *conn) startWriter() {
	// There is nothing to do for a writer if nothing is queued and no close frame is due.
	if c.isWriting || c.holdsPushes || len(c.outbox.queue) == 0 && (!c.isClosing || c.closeCode == 0) {
		return
	}
	c.isWriting = true
	c.running.Go(func() {
		c.cutOnPanic("realtime writer", func() error {
			c.writeOutbox()
			return nil
		})
	})
}

// writeOutbox sends the outbox, and then the close frame if the connection ends. Only this goroutine writes messages.
func (c *conn) writeOutbox() {
	for {
		if c.writeBurst() != nil {
			c.cutOff()
			return
		}
		if code, done := c.endWriting(); done {
			if code != 0 {
				c.sendClose(code)
			}
			return
		}
	}
}

// writeBurst writes what is queued, in few system calls.
func (c *conn) writeBurst() error {
	return c.socket.WriteBurst(func(b *ws.Burst) error {
		// Parcels that are queued meanwhile go out in the same burst.
		for p, ok := c.takeParcel(); ok; p, ok = c.takeParcel() {
			for _, frame := range p.frames {
				c.server.metrics.sentFrames.Inc()
				if err := b.WriteMessage(c.messageKind(), frame); err != nil {
					return err
				}
			}
			c.observeDelivery(p)
			c.requestSnapshots()
		}
		return nil
	})
}

// observeDelivery observes how long a change of a room took to get here.
func (c *conn) observeDelivery(p parcel) {
	if !p.decidedAt.IsZero() {
		c.server.metrics.hub.Delivery.Observe(c.server.store.Now().Sub(p.decidedAt).Seconds())
	}
}

// takeParcel takes the oldest parcel, and wakes what waits until half of the outbox is free.
func (c *conn) takeParcel() (p parcel, ok bool) {
	c.mu.Lock()
	p, ok = c.outbox.takeOldest()
	var onFree func()
	if c.outbox.isHalfFree() {
		c.spaceFreed.Broadcast()
		onFree, c.onFree = c.onFree, nil
	}
	c.mu.Unlock()
	// Outside of the lock, since it pushes to this connection.
	if onFree != nil {
		onFree()
	}
	return p, ok
}

// endWriting ends writing if nothing is queued. A close frame goes out then if there is a code.
func (c *conn) endWriting() (code websocket.StatusCode, done bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.outbox.queue) > 0 {
		return 0, false
	}
	// Under the lock under which parcels are queued: one that comes now starts another writer, and none is left behind.
	c.isWriting, code = false, c.closeCode
	// Taken once: a writer that starts later sends no second close frame.
	c.closeCode = 0
	return code, true
}

// messageKind returns the kind of message in which the client expects frames of its codec.
func (c *conn) messageKind() websocket.MessageType {
	if c.codec.Binary() {
		return websocket.MessageBinary
	}
	return websocket.MessageText
}

// requestSnapshots asks for snapshots of the rooms whose patches were dropped, once there is space for them.
func (c *conn) requestSnapshots() {
	c.mu.Lock()
	starving := c.outbox.takeStarving()
	c.mu.Unlock()
	for _, room := range starving {
		c.hub.SendDropped(c, room)
	}
}

// sendClose sends a close frame and waits for that of the client.
func (c *conn) sendClose(code websocket.StatusCode) {
	c.server.metrics.countClose(code)
	c.socket.Close(code, c.closeReason, c.server.options.timing.closeTimeout)
}
