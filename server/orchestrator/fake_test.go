package orchestrator

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

// fake is an orchestrator that a test controls, over a real WebSocket.
type fake struct {
	url   string
	lines chan *line
}

// line is the connection of an agent.
type line struct {
	t         *testing.T
	ws        *websocket.Conn
	offered   string     // the subprotocols of the request
	received  chan any   // states and acks; closed with the connection
	lost      chan error // why reading ended
	heartbeat int        // polls so far
}

func newFake(t *testing.T, accept *websocket.AcceptOptions) *fake {
	d := &fake{lines: make(chan *line)}
	ctx, cancel := context.WithCancel(t.Context())
	d.url = webtest.ServeWebSocket(t, accept, func(ws *websocket.Conn, r *http.Request) {
		l := &line{t: t, ws: ws, offered: r.Header.Get("Sec-WebSocket-Protocol"), received: make(chan any, 100),
			lost: make(chan error, 1)}
		select {
		case d.lines <- l:
			l.read(ctx)
		case <-ctx.Done():
		}
	})
	t.Cleanup(cancel)
	return d
}

// read decodes with the code under test.
func (l *line) read(ctx context.Context) {
	defer close(l.received)
	l.ws.SetReadLimit(maxFrameBytes)
	for {
		kind, message, err := l.ws.Read(ctx)
		if err != nil {
			l.lost <- err
			return
		}
		got, err := decodeFrame(kind, message)
		if err != nil {
			l.lost <- err
			return
		}
		l.received <- got
	}
}

const patience = 20 * time.Second

// start runs an agent until the test ends; the channel gets the error of Run.
func (d *fake) start(t *testing.T, cfg agents.Config) (*agents.Agent, <-chan error) {
	cfg.URL, cfg.Key = d.url, "an-agent-key"
	cfg.Random = func() float64 { return 0 }
	a := agents.New(cfg)
	ended := make(chan error, 1)
	go func() { ended <- a.Run(t.Context()) }()
	return a, ended
}

func (d *fake) next(t *testing.T) *line { return await.Value(t, d.lines, "connection") }

// greeted returns the next connection, greeted and with the first reply.
func (d *fake) greeted(t *testing.T, instanceID string) (*line, state) {
	l := d.next(t)
	l.send(hello{instanceID, 5 * time.Second}.encodeFrame())
	return l, l.poll(nil, statusActive)
}

func (l *line) send(frame []byte) {
	require.NoError(l.t, l.ws.Write(l.t.Context(), websocket.MessageBinary, frame))
}

func (l *line) poll(knownHash *string, status string) state {
	l.heartbeat++
	reqID := "poll_" + strings.Repeat("i", l.heartbeat)
	l.send(poll{reqID, knownHash, status}.encodeFrame())
	s := await.Value(l.t, l.received, "state").(state)
	require.Equal(l.t, reqID, s.reqID)
	return s
}

func (l *line) command(c command) ack {
	l.send(c.encodeFrame())
	return await.Value(l.t, l.received, "ack").(ack)
}
