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
	// writeTimeout is how long a player may not take what is sent before the connection counts as dead.
	writeTimeout = 5 * time.Second
	// pingEvery finds connections whose other end has vanished without a word.
	pingEvery = 10 * time.Second
	// admitTimeout bounds the director's part of an admission, an outage included.
	admitTimeout = 10 * time.Second
)

// conn is one admitted connection.
type conn struct {
	ws              *websocket.Conn
	player, session string
	mode            string // of the session
	maxPlayers      int
	frames          chan []byte
}

// offer hands a frame over to be sent. A connection that is not done with the last one misses this one: old
// positions are worth nothing, and a slow player must not slow the room.
func (c *conn) offer(frame []byte) {
	select {
	case c.frames <- frame:
	default:
	}
}

// play is a connection's life.
func (s *Server) play(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		http.Error(w, "closing", http.StatusServiceUnavailable)
		return
	}
	defer s.work.Done()
	admission, ws := s.enter(w, r) //nolint:contextcheck // the request's context is not the connection's
	if ws == nil {
		return
	}
	defer func() { _ = ws.CloseNow() }()
	if admission != nil {
		defer admission.Leave()
		s.serve(ws, admission) //nolint:contextcheck // the same
	}
}

// enter takes a connection through the door. Without a WebSocket it has been answered, without an admission closed.
func (s *Server) enter(w http.ResponseWriter, r *http.Request) (*sdk.Admission, *websocket.Conn) {
	select {
	case s.door <- struct{}{}:
		defer func() { <-s.door }()
	default:
		http.Error(w, "too many players at the door", http.StatusServiceUnavailable)
		return nil, nil
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		InsecureSkipVerify: true, // The origin does not matter: a token in a message, unlike a cookie, no other site can send.
	})
	if err != nil {
		return nil, nil
	}
	ws.SetReadLimit(game.MaxMessage)
	admission, err := s.admit(ws)
	if err != nil {
		s.turnAway(ws, err)
	}
	return admission, ws
}

// admit waits for the hello and has the SDK judge its token. The request's context is of no use: net/http ends it for
// connections that are its own only.
func (s *Server) admit(ws *websocket.Conn) (*sdk.Admission, error) {
	ctx, cancel := context.WithTimeout(s.life, s.cfg.HelloTimeout)
	defer cancel()
	hello, err := receive(ctx, ws)
	if err != nil {
		return nil, err
	}
	if hello.Type != game.TypeHello {
		return nil, errNoHello
	}
	ctx, cancel = context.WithTimeout(s.life, admitTimeout)
	defer cancel()
	return s.fleet.Admit(ctx, hello.Token)
}

var errNoHello = errors.New("arena: the first message was no hello")

func receive(ctx context.Context, ws *websocket.Conn) (m game.ClientMessage, err error) {
	_, raw, err := ws.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(raw, &m)
}

func (s *Server) turnAway(ws *websocket.Conn, err error) {
	code, reason := farewell(err)
	s.cfg.Logger.LogAttrs(context.Background(), slog.LevelInfo, "player turned away", slog.String("reason", reason), slog.Any("error", err))
	_ = ws.Close(code, reason)
}

// farewell tells a player what to do next, and nothing else about why.
func farewell(err error) (websocket.StatusCode, string) {
	switch {
	case errors.Is(err, sdk.ErrReplaced):
		return game.StatusReplaced, "connected elsewhere"
	case errors.Is(err, sdk.ErrSessionLost), errors.Is(err, sdk.ErrNotFound):
		return game.StatusSessionEnded, "session ended"
	case errors.Is(err, sdk.ErrClosed), errors.Is(err, sdk.ErrSuperseded):
		return websocket.StatusGoingAway, "server is closing"
	case errors.Is(err, sdk.ErrBusy), errors.Is(err, sdk.ErrUnavailable), errors.Is(err, context.DeadlineExceeded):
		return websocket.StatusTryAgainLater, "try again"
	}
	return game.StatusRefused, "refused"
}

// serve plays until the player leaves or the admission ends.
func (s *Server) serve(ws *websocket.Conn, admission *sdk.Admission) {
	c := &conn{
		ws: ws, player: admission.Sub, session: admission.SessionID, mode: admission.Mode, maxPlayers: admission.MaxPlayers,
		frames: make(chan []byte, 2),
	}
	welcome, err := json.Marshal(game.ServerMessage{
		Type: game.TypeWelcome, You: c.player, SessionID: c.session, Mode: c.mode, MaxPlayers: c.maxPlayers,
	})
	if err != nil {
		return
	}
	c.offer(welcome)
	place := s.rooms.enter(c)
	defer place.leave(c)
	gone := make(chan struct{})
	s.work.Go(func() {
		defer close(gone)
		c.listen(place)
	})
	c.talk(gone, admission)
	_ = ws.CloseNow()
	<-gone
}

// listen takes the player's moves until the connection ends.
func (c *conn) listen(place *room) {
	for {
		m, err := receive(context.Background(), c.ws)
		if err != nil {
			return
		}
		if m.Type == game.TypeSteer {
			place.steer(c, m.Heading)
		}
	}
}

// talk sends what the room offers, until the player is gone or has to go.
func (c *conn) talk(gone <-chan struct{}, admission *sdk.Admission) {
	ping := time.NewTicker(pingEvery)
	defer ping.Stop()
	for {
		var err error
		select {
		case <-gone:
			return
		case <-admission.Done():
			code, reason := farewell(admission.Err())
			_ = c.ws.Close(code, reason)
			return
		case frame := <-c.frames:
			err = bounded(func(ctx context.Context) error { return c.ws.Write(ctx, websocket.MessageText, frame) })
		case <-ping.C:
			err = bounded(c.ws.Ping)
		}
		if err != nil {
			return
		}
	}
}

func bounded(do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), writeTimeout)
	defer cancel()
	return do(ctx)
}
