package server

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

const (
	// writeTimeout is after how long a connection counts as dead whose player does not read.
	writeTimeout = 5 * time.Second
	// pingEvery is the interval of pings, which find connections whose other end has vanished.
	pingEvery = 10 * time.Second
	// admitTimeout bounds the director's part of an admission; the SDK retries during a short outage.
	admitTimeout = 10 * time.Second
)

// conn is one admitted connection.
type conn struct {
	ws                    *websocket.Conn
	playerName, sessionID string
	sessionMode           string
	maxPlayers            int
	frameQueue            chan []byte
}

// offerFrame queues a frame to be sent, and drops it while the last one is not sent yet: old positions are worth
// nothing, and a slow player must not slow the room.
func (c *conn) offerFrame(frame []byte) {
	select {
	case c.frameQueue <- frame:
	default:
	}
}

// serveGame serves a connection from admission to close.
func (s *Server) serveGame(w http.ResponseWriter, r *http.Request) {
	if !s.beginConn() {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	defer s.goroutines.Done()
	ws, admission := s.acceptPlayer(w, r) //nolint:contextcheck // the request's context is not the connection's
	if admission == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	// Reports that the seat is free, whatever has ended the connection.
	defer admission.Leave()
	s.servePlayer(ws, admission) //nolint:contextcheck // the same
}

// acceptPlayer accepts and admits a connection. It returns nil when the connection has been answered or closed instead.
func (s *Server) acceptPlayer(w http.ResponseWriter, r *http.Request) (*websocket.Conn, *sdk.Admission) {
	select {
	// Before the handshake of the WebSocket: a crowd that never says hello must not take the memory of sockets.
	case s.joinSlots <- struct{}{}:
		defer func() { <-s.joinSlots }()
	default:
		http.Error(w, "too many players are connecting", http.StatusServiceUnavailable)
		return nil, nil
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // Safe for any origin: unlike a cookie, another site cannot send the token.
	})
	if err != nil {
		return nil, nil
	}
	// Before the first read, since a client that is not admitted yet must not send more either.
	ws.SetReadLimit(game.MaxMessage)
	admission, err := s.admitPlayer(ws)
	if err != nil {
		s.turnAway(ws, err)
		return nil, nil
	}
	return ws, admission
}

// admitPlayer waits for the hello and lets the SDK verify its token. It cannot use the request's context: net/http does
// not end the context of a connection that has become a WebSocket.
func (s *Server) admitPlayer(ws *websocket.Conn) (*sdk.Admission, error) {
	ctx, cancel := context.WithTimeout(s.lifeContext, s.serverConfig.HelloTimeout)
	defer cancel()
	hello, err := receiveMessage(ctx, ws)
	if err != nil {
		return nil, err
	}
	if hello.Type != game.TypeHello {
		return nil, errNoHello
	}
	// A timeout of its own, of which a slow hello takes nothing.
	ctx, cancel = context.WithTimeout(s.lifeContext, admitTimeout)
	defer cancel()
	return s.gameServer.Admit(ctx, hello.Token)
}

var errNoHello = errors.New("arena: the first message was no hello")

func receiveMessage(ctx context.Context, ws *websocket.Conn) (m game.ClientMessage, err error) {
	_, raw, err := ws.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(raw, &m)
}

// turnAway logs why a player was not admitted, and closes the connection.
func (s *Server) turnAway(ws *websocket.Conn, err error) {
	code, reason := closeCode(err)
	// The log has the whole error, the close code only what the client does next.
	s.serverConfig.Logger.LogAttrs(context.Background(), slog.LevelInfo, "player turned away",
		slog.String("reason", reason), slog.Any("error", err))
	_ = ws.Close(code, reason)
}

// closeCode returns the close code, which tells the player's program what to do next but not why.
func closeCode(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, sdk.ErrReplaced):
		return game.StatusReplaced, "connected elsewhere"
	case errors.Is(err, sdk.ErrSessionLost), errors.Is(err, sdk.ErrNotFound):
		return game.StatusSessionEnded, "session ended"
	// Both mean another server: this one ends, or another process has its id.
	case errors.Is(err, sdk.ErrClosed), errors.Is(err, sdk.ErrSuperseded):
		return websocket.StatusGoingAway, "server is closing"
	case errors.Is(err, sdk.ErrBusy), errors.Is(err, sdk.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return websocket.StatusTryAgainLater, "try again"
	}
	// All else concerns the token: the client asks the director for another one.
	return game.StatusRefused, "refused"
}

// servePlayer runs until the player leaves or the admission ends.
func (s *Server) servePlayer(ws *websocket.Conn, admission *sdk.Admission) {
	c := &conn{
		ws: ws, playerName: admission.Sub, sessionID: admission.SessionID, sessionMode: admission.Mode,
		maxPlayers: admission.MaxPlayers,
		// One for the welcome, and one for the first state after it.
		frameQueue: make(chan []byte, 2),
	}
	welcome, err := json.Marshal(game.ServerMessage{
		Type: game.TypeWelcome, You: c.playerName, SessionID: c.sessionID, Mode: c.sessionMode,
		MaxPlayers: c.maxPlayers,
	})
	if err != nil {
		return
	}
	// Before the room offers states: the queue is empty, so that the welcome is never dropped.
	c.offerFrame(welcome)
	room := s.rooms.enterRoom(c)
	defer room.removeConn(c)
	gone := make(chan struct{})
	s.goroutines.Go(func() {
		defer close(gone)
		c.readMoves(room)
	})
	c.writeFrames(gone, admission)
	// This ends the read in readMoves. Only then removeConn runs, so that no move follows it.
	_ = ws.CloseNow()
	<-gone
}

// readMoves reads the player's moves until the connection ends.
func (c *conn) readMoves(room *gameRoom) {
	for {
		// Without a timeout: a player may stand still, and pings find those who are gone.
		m, err := receiveMessage(context.Background(), c.ws)
		if err != nil {
			return
		}
		if m.Type == game.TypeSteer {
			room.steerPlayer(c, m.Heading)
		}
	}
}

// writeFrames sends the frames that the room offers, until the player leaves or the admission ends.
func (c *conn) writeFrames(gone <-chan struct{}, admission *sdk.Admission) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		select {
		case <-gone:
			return
		// The player connected elsewhere, the session was closed, or the server ends.
		case <-admission.Done():
			code, reason := closeCode(admission.Err())
			_ = c.ws.Close(code, reason)
			return
		case frame := <-c.frameQueue:
			write := func(ctx context.Context) error { return c.ws.Write(ctx, websocket.MessageText, frame) }
			if withinTimeout(write) != nil {
				return
			}
		case <-ping.C:
			if withinTimeout(c.ws.Ping) != nil {
				return
			}
		}
	}
}

// withinTimeout does something that takes at most writeTimeout.
func withinTimeout(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return do(ctx)
}
