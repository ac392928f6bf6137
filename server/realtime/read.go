package realtime

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"time"

	"github.com/coder/websocket"
)

const (
	smallFrame     = 16 << 10         // bytes; a longer message counts as large
	maxLargeFrames = 64 << 20         // bytes of large messages that a replica reads and decodes at a time
	frameTimeout   = 15 * time.Second // within which a message must arrive, once it has begun
)

// frames are the buffers in which messages are read, and collected to be written. Decoded messages keep nothing of them.
var frames = sync.Pool{New: func() any { return new(bytes.Buffer) }}

// putFrame returns a buffer to frames, unless it is large.
func putFrame(b *bytes.Buffer) {
	if b.Cap() <= 2*smallFrame {
		frames.Put(b)
	}
}

// read passes messages on until the connection ends.
func (c *conn) read() error {
	for {
		_, message, err := c.ws.Reader(context.Background())
		if err != nil {
			return err
		}
		if err := c.readFrame(message); err != nil {
			return err
		}
	}
}

// readFrame reads and handles a message. A replica reads and decodes few large messages at a time; the others wait.
func (c *conn) readFrame(message io.Reader) error {
	buffer, _ := frames.Get().(*bytes.Buffer)
	buffer.Reset()
	defer putFrame(buffer)
	if err := c.cork.SetReadDeadline(time.Now().Add(frameTimeout)); err != nil {
		return err
	}
	_, err := io.CopyN(buffer, message, smallFrame)
	if err == nil {
		if err := c.server.largeFrames.Acquire(context.Background(), maxFrame); err != nil {
			return err
		}
		defer c.server.largeFrames.Release(maxFrame)
		_, err = io.Copy(buffer, message)
	}
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if !c.extend() {
		return errEnding
	}
	c.heard.Add(1)
	c.server.metrics.received.Inc()
	c.release()
	c.receive(buffer.Bytes())
	return nil
}

var errEnding = errors.New("the connection is being closed")

// extend lets the client be silent for as long as it likes, unless the connection is being closed.
func (c *conn) extend() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closing {
		return false
	}
	return c.cork.SetReadDeadline(time.Time{}) == nil
}

// ended closes the connection after reading has ended.
func (c *conn) ended(err error) {
	c.mu.Lock()
	closing := c.closing
	c.mu.Unlock()
	switch {
	case closing: // the writer closes it
	case errors.Is(err, websocket.ErrMessageTooBig):
		c.close(websocket.StatusMessageTooBig, "")
	default:
		c.server.metrics.closed(websocket.CloseStatus(err))
		c.cut()
	}
}
