package realtime

import (
	"context"
	"errors"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/server/ws"
)

// messageLimits bound what the clients of a replica send: of large messages, 64 MiB are read and decoded at a time.
var messageLimits = ws.Limits{SmallBytes: 16 << 10, LargeBytes: maxFrame, LargeAtOnce: 64 << 20,
	SmallWithin: 15 * time.Second}

// readFrames passes messages on until the connection ends.
func (c *conn) readFrames() error {
	for {
		err := c.server.messageReader.ReadMessage(context.Background(), c.socket,
			func(_ websocket.MessageType, message []byte) {
				c.server.metrics.receivedFrames.Inc()
				// A client that sends its first frame has read handshake.ok, so it does not lose what follows.
				c.releasePushes()
				c.receiveFrame(message)
			})
		if err != nil {
			return err
		}
	}
}

// endReading closes the connection after reading has ended.
func (c *conn) endReading(err error) {
	c.mu.Lock()
	closing := c.isClosing
	c.mu.Unlock()
	switch {
	case closing: // the writer closes it
	case errors.Is(err, websocket.ErrMessageTooBig):
		c.Close(websocket.StatusMessageTooBig, "")
	default:
		// The client has closed, or is gone: there is nobody to send a close frame to.
		c.server.metrics.countClose(websocket.CloseStatus(err))
		c.cutOff()
	}
}

func (c *conn) pingOptions() ws.Pings {
	timing := c.server.options.timing
	return ws.Pings{Every: timing.pingEvery, Within: timing.pongWithin, Guard: c.server.guard,
		Goroutine: "realtime ping"}
}

// onSilence cuts a connection whose client does not answer a ping. A client that is heard is alive, and while reading
// pauses an answer cannot be read. A client that reads slowly has the time limit of the writer.
func (c *conn) onSilence(heard bool) (goOn bool) {
	c.mu.Lock()
	isAlive := heard || c.isWriting || c.isPaused
	c.wasSilent = !isAlive
	c.mu.Unlock()
	if !isAlive {
		c.server.metrics.silentClients.Inc()
		c.cutOff()
	}
	return isAlive
}
