package lobby

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"
)

const (
	protocolVersion = 1
	maxFrame        = 1 << 20 // bytes of a frame of the director: a state has at most 64 KiB
	// writeTimeout ends a connection that takes no frames any more.
	writeTimeout = 10 * time.Second
	// maxSilence ends a connection that is dead without a close frame: the director pings each 20 seconds.
	maxSilence = 60 * time.Second
)

// frame is a message in both directions.
type frame struct {
	Version int             `json:"v"`
	Type    string          `json:"t"`
	RID     string          `json:"rid,omitempty"` // of a request and its answer
	Room    string          `json:"room,omitempty"`
	Payload json.RawMessage `json:"p,omitempty"`
}

// hello is the first frame of a client.
type hello struct {
	Version int      `json:"v"`
	Codecs  []string `json:"codecs"`
	Token   string   `json:"token"`
	Project string   `json:"project_id,omitempty"`
	Session string   `json:"session_id,omitempty"` // to resume
}

// welcome is the body of the answer to a hello that was accepted.
type welcome struct {
	Session string `json:"session_id"`
	Resumed bool   `json:"resumed"`
}

// connection is a WebSocket whose handshake was accepted.
type connection struct {
	ws           *websocket.Conn
	serverURL    string
	openedAt     time.Time
	silenceTimer *time.Timer // cuts the connection
}

// dialServer connects to a replica and makes the handshake. Errors: [*Error] for a handshake that was refused; the
// replica cannot be reached.
func (c *Client) dialServer(ctx context.Context, url, token string) (*connection, welcome, error) {
	ctx, cancel := context.WithTimeout(ctx, c.options.AttemptTimeout)
	defer cancel()
	l := &connection{serverURL: url, openedAt: time.Now()}
	l.silenceTimer = time.AfterFunc(maxSilence, func() { _ = l.ws.CloseNow() })
	l.silenceTimer.Stop()
	alive := func(context.Context, []byte) bool { l.silenceTimer.Reset(maxSilence); return true }
	ws, _, err := websocket.Dial(ctx, url,
		&websocket.DialOptions{OnPingReceived: alive})
	if err != nil {
		return nil, welcome{}, unreachableError(url, err)
	}
	l.ws = ws
	ws.SetReadLimit(maxFrame)
	w, err := l.shakeHands(ctx, hello{protocolVersion, []string{"json"}, token, c.options.Project, c.Status().Session})
	if err != nil {
		_ = ws.CloseNow()
		return nil, welcome{}, err
	}
	l.silenceTimer.Reset(maxSilence)
	return l, w, nil
}

func (l *connection) shakeHands(ctx context.Context, h hello) (w welcome, err error) {
	raw, err := json.Marshal(h)
	if err == nil {
		err = l.ws.Write(ctx, websocket.MessageText, raw)
	}
	if err == nil {
		_, raw, err = l.ws.Read(ctx)
	}
	if err != nil {
		return w, unreachableError(l.serverURL, err)
	}
	var first frame
	err = json.Unmarshal(raw, &first)
	if err == nil && first.Type != "handshake.ok" {
		var refused refusal
		if err = json.Unmarshal(first.Payload, &refused); err == nil {
			return w, refused.asError("handshake")
		}
	}
	if err == nil {
		err = json.Unmarshal(first.Payload, &w)
	}
	// A proxy or another service: the next replica may be a director.
	if err != nil {
		return w, unreachableError(l.serverURL,
			fmt.Errorf("the answer to the handshake is no frame of a director: %w", err))
	}
	return w, nil
}

// requestOnly sends a frame of a caller. An error shows with the next read, which ends the connection. No context of
// the caller bounds it, because one that ends during a write would cut the connection.
func (l *connection) requestOnly(f frame) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	l.writeFrame(ctx, f)
}

func (l *connection) writeFrame(ctx context.Context, f frame) {
	if raw, err := json.Marshal(f); err == nil {
		_ = l.ws.Write(ctx, websocket.MessageText, raw)
	}
}
