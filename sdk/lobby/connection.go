package lobby

import (
	"context"
	"encoding/json"
	"errors"
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
	conn := &connection{serverURL: url, openedAt: time.Now()}
	conn.silenceTimer = time.AfterFunc(maxSilence, func() { _ = conn.ws.CloseNow() })
	conn.silenceTimer.Stop()
	onPing := func(context.Context, []byte) bool { conn.silenceTimer.Reset(maxSilence); return true }
	ws, _, err := websocket.Dial(ctx, url, &websocket.DialOptions{OnPingReceived: onPing})
	if err != nil {
		return nil, welcome{}, unreachableError(url, err)
	}
	conn.ws = ws
	ws.SetReadLimit(maxFrame)
	w, err := conn.shakeHands(ctx,
		hello{protocolVersion, []string{"json"}, token, c.options.Project, c.Status().Session})
	if err != nil {
		_ = ws.CloseNow()
		return nil, welcome{}, err
	}
	conn.silenceTimer.Reset(maxSilence)
	return conn, w, nil
}

func (conn *connection) shakeHands(ctx context.Context, h hello) (welcome, error) {
	raw, err := json.Marshal(h)
	if err != nil {
		return welcome{}, unreachableError(conn.serverURL, err)
	}
	if err := conn.ws.Write(ctx, websocket.MessageText, raw); err != nil {
		return welcome{}, unreachableError(conn.serverURL, err)
	}
	_, answer, err := conn.ws.Read(ctx)
	if err != nil {
		return welcome{}, unreachableError(conn.serverURL, err)
	}
	w, err := decodeWelcome(answer)
	if _, refused := errors.AsType[*Error](err); err != nil && !refused {
		// A proxy or another service: the next replica may be a director.
		return welcome{}, unreachableError(conn.serverURL,
			fmt.Errorf("the answer to the handshake is no frame of a director: %w", err))
	}
	return w, err
}

// decodeWelcome decodes the answer to a hello. Errors: [*Error] for a handshake that was refused; an answer that is
// none.
func decodeWelcome(raw []byte) (w welcome, err error) {
	var answer frame
	if err := json.Unmarshal(raw, &answer); err != nil {
		return w, err
	}
	if answer.Type == "handshake.ok" {
		err = json.Unmarshal(answer.Payload, &w)
		return w, err
	}
	var refused refusal
	if err := json.Unmarshal(answer.Payload, &refused); err != nil {
		return w, err
	}
	return w, refused.asError("handshake")
}

// sendRequest sends a frame of a caller. A write that fails makes the next read fail, which ends the connection. No
// context of the caller bounds the write, because one that ends meanwhile would cut the connection.
func (conn *connection) sendRequest(f frame) {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	conn.writeFrame(ctx, f)
}

func (conn *connection) writeFrame(ctx context.Context, f frame) {
	if raw, err := json.Marshal(f); err == nil {
		_ = conn.ws.Write(ctx, websocket.MessageText, raw)
	}
}
