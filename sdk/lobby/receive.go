package lobby

import (
	"bytes"
	"context"
	"encoding/json"
)

// readFrames takes the frames of a connection until it ends, and returns why.
func (c *Client) readFrames(conn *connection) error {
	defer conn.silenceTimer.Stop()
	defer context.AfterFunc(c.lifeContext, func() { _ = conn.ws.CloseNow() })()
	// The end of the client and the timer of silence cut the connection. A context that can end would cost the library
	// a callback for each frame.
	ctx := context.Background()
	for {
		_, raw, err := conn.ws.Read(ctx)
		if err != nil {
			_ = conn.ws.CloseNow()
			return err
		}
		conn.silenceTimer.Reset(maxSilence)
		if !c.isForNobody(raw) {
			c.takeFrame(conn, raw)
		}
		c.noteFrame()
	}
}

// messageTail ends each message of a room, as the director writes it: with its keys in order.
var messageTail = []byte(`,"t":"room.message","v":1}`)

// isForNobody reports whether a frame is a message of a room, and nobody receives messages since OnEvent is nil.
// Decoding the messages of a busy room costs more than everything else that a client does.
func (c *Client) isForNobody(raw []byte) bool {
	return c.options.OnEvent == nil && bytes.HasSuffix(raw, messageTail)
}

func (c *Client) takeFrame(conn *connection, raw []byte) {
	var f frame
	if json.Unmarshal(raw, &f) != nil || f.Type == "" {
		return
	}
	switch f.Type {
	case "rpc.response":
		c.takeAnswer(f)
	case "state.snapshot", "state.patch":
		// A write that blocks also delays the next read, so that the timer of silence ends it.
		if answer, ok := c.takeState(f); ok {
			conn.writeFrame(context.Background(), answer)
		}
	default:
		c.takeEvent(f)
	}
}

// noteFrame counts a frame, and wakes those who wait for what it changed.
func (c *Client) noteFrame() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.status.Frames++
	c.signalChange()
}
