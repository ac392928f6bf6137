package realtimetest

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/base/wait"
)

// readLimit bounds a frame of the server.
const readLimit = 4 << 20

// RefusedError is a handshake that the server has refused.
type RefusedError struct {
	Reason, Code string
	Status       websocket.StatusCode // of the close frame behind it; -1: none
}

// Error implements error.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("handshake refused: %s (%s, %d)", e.Reason, e.Code, e.Status)
}

// notReady reports whether a replica has refused the upgrade with 503, as it does until it has reached the database.
// The SDK dials again.
func notReady(err error) bool { return err != nil && strings.Contains(err.Error(), "got 503") }

// Dial connects a client, as soon as the replica is ready, and fails the test at its end if the server has done
// anything wrong.
func Dial(t testing.TB, o Options) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	c, err := Connect(ctx, o)
	for ; notReady(err) && wait.For(ctx, 10*time.Millisecond); c, err = Connect(ctx, o) {
	}
	require.NoError(t, err)
	t.Cleanup(func() {
		violations := c.Violations(true)
		c.Drop()
		require.Empty(t, violations, "client %s", c.SessionID())
	})
	return c
}

// Connect connects a client. Errors: *RefusedError; the server cannot be reached.
func Connect(ctx context.Context, o Options) (*Client, error) {
	if o.Codecs == nil {
		o.Codecs = []string{"msgpack", "json"}
	}
	if o.Project == "" {
		o.Project = "anonymous"
	}
	c := &Client{options: o, changed: make(chan struct{}), rooms: map[string]*Room{}, pending: map[string]*call{},
		session: o.Session}
	return c, c.openSocket(ctx, o.URL)
}

// Reconnect connects to a URL with the session of the client, as the SDK does after a close.
func (c *Client) Reconnect(ctx context.Context, url string) error {
	return c.openSocket(ctx, url)
}

func (c *Client) openSocket(ctx context.Context, url string) error {
	ws, err := c.options.dial(ctx, url)
	if err != nil {
		return err
	}
	l, session, err := c.shakeHands(ctx, ws)
	if err != nil {
		_ = ws.CloseNow()
		return err
	}
	c.mu.Lock()
	c.failPending()
	c.link, c.session = l, session
	if !l.resumed {
		clear(c.rooms)
	}
	c.signalChange()
	c.mu.Unlock()
	go c.readFrames(l)
	return nil
}

func (o Options) dial(ctx context.Context, url string) (*websocket.Conn, error) {
	var with websocket.DialOptions
	if o.Wrap != nil {
		with.HTTPClient = &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context,
			network, addr string) (net.Conn, error) {
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			if err != nil {
				return nil, err
			}
			return o.Wrap(conn), nil
		}}}
	}
	ws, response, err := websocket.Dial(ctx, url, &with)
	if err != nil {
		return nil, err
	}
	if response.Body != nil {
		_ = response.Body.Close()
	}
	ws.SetReadLimit(readLimit)
	return ws, nil
}

func (c *Client) shakeHands(ctx context.Context, ws *websocket.Conn) (*link, string, error) {
	request := map[string]any{"v": 1, "codecs": c.options.Codecs, "project_id": c.options.Project,
		"token": c.options.Token}
	if id := c.SessionID(); id != "" {
		request["session_id"] = id
	}
	text, err := json.Marshal(request)
	if err != nil {
		return nil, "", err
	}
	if err := ws.Write(ctx, websocket.MessageText, text); err != nil {
		return nil, "", err
	}
	kind, frame, err := ws.Read(ctx)
	if err != nil {
		return nil, "", err
	}
	opened := time.Now()
	e, err := firstEvent(kind, frame)
	switch {
	case err != nil:
		return nil, "", err
	case e.Type == "error":
		_, _, err := ws.Read(ctx)
		return nil, "", &RefusedError{e.Text("reason"), e.Text("code"), websocket.CloseStatus(err)}
	case e.Type != "handshake.ok":
		return nil, "", fmt.Errorf("the first frame is %s", e.Type)
	}
	resumed, _ := e.P["resumed"].(bool)
	return &link{ws: ws, wire: wireOf(e.Text("codec")), resumed: resumed, opened: opened}, e.Text("session_id"), nil
}

// firstEvent reads the answer to a handshake, whose codec the client does not know yet.
func firstEvent(kind websocket.MessageType, frame []byte) (Event, error) {
	w := wireOf("msgpack")
	if kind == websocket.MessageText {
		w = wireOf("json")
	}
	e, problems, err := w.decode(frame)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("handshake: %v", problems)
	}
	return e, err
}
