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
	sessionMode           string // of the session
	maxPlayers            int
	frameQueue            chan []byte
}

// offerFrame queues a frame to be sent, and drops it while the last one is not sent yet: old positions are worth nothing,
// and a slow player must not slow the room.
func (c *conn) offerFrame(frame []byte) {
	select {
	case c.frameQueue <- frame:
	default:
	}
}

// serveGame serves a connection from admission to close.
func (s *Server) serveGame(w http.ResponseWriter, r *http.Request) {
	if !s.beginWork() {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	defer s.goroutines.Done()
	admission, ws := s.acceptPlayer(w, r) //nolint:contextcheck // the request's context is not the connection's
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	if admission != nil {
		// Reports that the seat is free, whatever has ended the connection.
		defer admission.Leave()
		s.servePlayer(ws, admission) //nolint:contextcheck // the same
	}
}

// acceptPlayer accepts and admits a connection. When it fails, it has already answered or closed it.
func (s *Server) acceptPlayer(w http.ResponseWriter, r *http.Request) (*sdk.Admission, *websocket.Conn) {
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
	}
	return admission, ws
}

// admitPlayer waits for the hello and lets the SDK verify its token. It cannot use the request's context: net/http does not
// end the context of a connection that has become a WebSocket.
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
	// A time of its own, from which a slow player's hello takes nothing.
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
	place := s.rooms.enterRoom(c)
	defer place.removeConn(c)
	gone := make(chan struct{})
	s.goroutines.Go(func() {
		defer close(gone)
		c.listenFor(place)
	})
	c.writeFrames(gone, admission)
	// This ends the read in listenFor. The place in the room is left after it, so that no move follows.
	_ = ws.CloseNow()
	<-gone
}

// listenFor reads the player's moves until the connection ends.
func (c *conn) listenFor(place *room) {
	for {
		// Without an end of its own: a player may stand still, and pings find those who are gone.
		m, err := receiveMessage(context.Background(), c.ws)
		if err != nil {
			return
		}
		if m.Type == game.TypeSteer {
			place.steerPlayer(c, m.Heading)
		}
	}
}

// writeFrames sends the frames that the room offers, until the player leaves or the admission ends.
func (c *conn) writeFrames(gone <-chan struct{}, admission *sdk.Admission) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-gone:
			return
		// The player connected elsewhere, the session was closed, or the server ends.
		case <-admission.Done():
			code, reason := closeCode(admission.Err())
			_ = c.ws.Close(code, reason)
			return
		case frame := <-c.frameQueue:
			err = withinTimeout(func(ctx context.Context) error { return c.ws.Write(ctx, websocket.MessageText, frame) })
		case <-ping.C:
			err = withinTimeout(c.ws.Ping)
		}
		if err != nil {
			return
		}
	}
}

func withinTimeout(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return do(ctx)
}
