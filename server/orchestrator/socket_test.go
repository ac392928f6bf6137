package orchestrator

import (
	"bufio"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/agents"
	"github.com/lattice-director/director/internal/testkit/agents/wire"
	"github.com/lattice-director/director/internal/testkit/await"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
)

func TestBadMessages(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	for name, c := range map[string]struct {
		code   websocket.StatusCode
		reason string
		does   func(*websocket.Conn)
	}{
		"text": {4002, "", func(ws *websocket.Conn) {
			_ = ws.Write(t.Context(), websocket.MessageText,
				[]byte("hello"))
		}},
		"cut": {4003, "invalid_message",
			func(ws *websocket.Conn) { send(t, ws, poll{reqID: "a"}.encodeFrame()[:9]) }},
		"topic": {4003, "invalid_message",
			func(ws *websocket.Conn) { send(t, ws, poll{reqID: "a"}.encodeFrame()) }},
		"unsolicited":     {4003, "", func(ws *websocket.Conn) { send(t, ws, wire.State{ReqID: "poll_9"}.Frame()) }},
		"unknown command": {4003, "", func(ws *websocket.Conn) { send(t, ws, wire.Ack{CommandID: "c"}.Frame()) }},
		"too large": {1009, "", func(ws *websocket.Conn) {
			_ = ws.Write(t.Context(), websocket.MessageBinary, make([]byte, maxFrameBytes+1))
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ws, id := v.greeted(settingsKey)
			c.does(ws)
			if c.code == websocket.StatusMessageTooBig {
				_, _, err := ws.Read(t.Context())
				require.Equal(t, c.code, websocket.CloseStatus(err))
			} else {
				closedWith(t, ws, c.code, c.reason)
			}
			require.Eventually(t, func() bool { return v.currentReplica.Load().sockets.Get(id) == nil }, patience,
				time.Millisecond)
		})
	}
}

// A defect costs the connection, and not the process.
func TestAPanicOfTheWriterEndsTheConnection(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, id := v.greeted(settingsKey)
	s := v.currentReplica.Load().sockets.Get(id)
	s.mu.Lock()
	v.metrics.closedConns = nil // closing dereferences it
	s.mu.Unlock()
	require.NoError(t, ws.Write(t.Context(), websocket.MessageText, nil))
	_, _, err := ws.Read(t.Context())
	require.Error(t, err)
	require.Equal(t, id, await.Value(t, v.store.left, "leave").ID)
	require.Eventually(t, func() bool { return v.currentReplica.Load().sockets.Get(id) == nil }, patience,
		time.Millisecond)
	require.Contains(t, v.log.String(), "goroutine=\"agent writer\"")
}

// A message of the largest allowed size is read, and then dropped because it has no topic.
func TestTheLargestMessageIsDropped(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, _ := v.greeted(settingsKey)
	frame := make([]byte, 0, maxFrameBytes)
	frame = append(frame, 0x3a) // field 7, bytes
	frame = binary.AppendUvarint(frame, uint64(maxFrameBytes-5))
	send(t, ws, frame[:maxFrameBytes])
	require.Eventually(t, func() bool { return strings.Contains(v.log.String(), "message without a topic") }, patience,
		time.Millisecond)
	require.NoError(t, ws.Ping(ws.CloseRead(t.Context())))
}

// rawSocket is a client that may break the rules of WebSockets. The frames arrive with its handshake.
func (v *served) rawSocket(frames ...byte) (net.Conn, *bufio.Reader) {
	v.t.Helper()
	conn := webtest.Dial(v.t, v.Addr().String())
	must.Get(fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\nConnection: keep-alive, Upgrade\r\nUpgrade: WebSocket\r\nSec-WebSocket-Version: 13\r\n"+
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Protocol: %s , %s\r\n\r\n%s", settingsKey,
		subprotocol, frames))(v.t)
	in := bufio.NewReader(conn)
	res, err := http.ReadResponse(in, nil) //nolint:bodyclose // after an upgrade there is no body
	require.NoError(v.t, err)
	require.Equal(v.t, http.StatusSwitchingProtocols, res.StatusCode)
	return conn, in
}

// The hello and the first poll are sent before anything is read, so that an agent counts its attempts to connect from
// 0.
func TestTheGreetingPrecedesReading(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	for range 50 {
		_, in := v.rawSocket(0x83, 0x80, 0, 0, 0, 0) // an unknown opcode
		for _, topic := range []string{topicHello, topicPoll} {
			header := make([]byte, 2)
			_, err := io.ReadFull(in, header)
			require.NoError(t, err)
			require.Equal(t, byte(0x82), header[0])
			payload := make([]byte, header[1])
			_, err = io.ReadFull(in, payload)
			require.NoError(t, err)
			require.Contains(t, string(payload), topic)
		}
	}
}

func TestBrokenFramesAreClosedWith1002(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	for name, frame := range map[string][]byte{
		"not masked":    {0x82, 0x01, 0x00},
		"reserved bits": {0xf2, 0x80, 1, 2, 3, 4},
		"opcode":        {0x83, 0x80, 1, 2, 3, 4},
		"continuation":  {0x80, 0x80, 1, 2, 3, 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			conn, in := v.rawSocket()
			_, err := conn.Write(frame)
			require.NoError(t, err)
			require.NoError(t, conn.SetReadDeadline(time.Now().Add(patience)))
			code := 0
			for code == 0 {
				header := make([]byte, 2)
				_, err := io.ReadFull(in, header)
				require.NoError(t, err)
				payload := make([]byte, header[1])
				_, err = io.ReadFull(in, payload)
				require.NoError(t, err)
				if header[0] == 0x88 {
					code = int(binary.BigEndian.Uint16(payload))
				}
			}
			require.Equal(t, 1002, code)
		})
	}
}

// What a caller chooses stays out of the log: the reason of a close frame and the headers of a handshake.
func TestTextsOfAgentsAreNotLogged(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, id := v.greeted(settingsKey)
	require.NoError(t, ws.Close(4321, "agent-chosen"))
	require.Equal(t, id, await.Value(t, v.store.left, "leave").ID)

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+v.Addr().String(), nil)
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Protocol": settingsKey,
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "agent-chosen",
	} {
		r.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	require.NoError(t, res.Body.Close())
	require.Equal(t, http.StatusBadRequest, res.StatusCode)

	require.Contains(t, v.log.String(), "code=4321")
	require.Contains(t, v.log.String(), "handshake of an agent failed")
	require.NotContains(t, v.log.String(), "agent-chosen")
	require.NotContains(t, v.log.String(), settingsKey)
}

// Commands and polls that are sent concurrently are whole frames, and agents can decode each of them.
func TestCommandsAndPollsAtOnce(t *testing.T) {
	t.Parallel()
	v := serve(t, func(o *Options) { o.Heartbeat = 400 * time.Millisecond }).ready()
	acked := make(chan struct{}, 10_000)
	a := agents.New(agents.Config{
		URL: v.url(), Key: settingsKey, EndpointURL: "ws://x", RoomTypes: []string{"match"},
		Send: func(topic string, send func()) {
			send()
			if topic == wire.TopicAck {
				acked <- struct{}{}
			}
		},
	})
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- a.Run(ctx) }()
	id := await.Value(t, v.store.joined, "join").Ref.ID
	var sending sync.WaitGroup
	for range 8 {
		sending.Go(func() {
			for range 100 {
				c := db.Command{ID: uuid.New(), AgentID: id, Op: db.CommandCreate, RawID: uuid.NewString(),
					RoomType: "match"}
				v.store.set(func(a *accepting) { a.pending = append(a.pending, c) })
				select {
				case v.store.wake <- struct{}{}:
				default:
				}
			}
		})
	}
	sending.Wait()
	for range 800 {
		await.Value(t, acked, "ack")
	}
	cancel()
	require.ErrorIs(t, <-ended, context.Canceled)
}

// An agent that answers no pings is cut without a close frame.
func TestUnansweredPingsCutTheConnection(t *testing.T) {
	t.Parallel()
	v := serve(t).ready()
	ws, id := v.greeted(settingsKey)
	require.False(t, v.currentReplica.Load().sockets.Get(id).onSilence(true))
	require.Equal(t, id, await.Value(t, v.store.left, "leave").ID)
	_, _, err := ws.Read(t.Context())
	require.Error(t, err)
	require.Equal(t, websocket.StatusCode(-1), websocket.CloseStatus(err))
}

// blockable is a listener whose connections take no more bytes while block is set, as those to a machine that reads
// nothing.
type blockable struct {
	net.Listener

	block atomic.Bool
}

func (l *blockable) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	return &blockableConn{Conn: conn, listener: l, closed: make(chan struct{})}, err
}

type blockableConn struct {
	net.Conn

	listener *blockable
	once     sync.Once
	closed   chan struct{}
}

func (c *blockableConn) Write(b []byte) (int, error) {
	if c.listener.block.Load() {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

func (c *blockableConn) Close() error {
	c.once.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// A write that takes five seconds ends the connection: commands must not pile up for an agent that reads nothing.
func TestAnAgentThatReadsNothingIsCut(t *testing.T) {
	t.Parallel()
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l := &blockable{Listener: inner}
	v := serve(t, func(o *Options) { o.Listener = l }).ready()
	_, id := v.greeted(settingsKey)
	l.block.Store(true)
	begun := time.Now()
	require.True(t, v.currentReplica.Load().sockets.Get(id).sendCommand(command{id: "c", op: opDrain}))
	require.Eventually(t, func() bool { return len(v.store.left) > 0 }, patience, 10*time.Millisecond)
	require.Equal(t, id, (<-v.store.left).ID)
	require.InDelta(t, writeTimeout.Seconds(), time.Since(begun).Seconds(), 3)
}
