package bots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

// maxFrame bounds a server's messages: a world with a thousand players fits.
const maxFrame = 1 << 20

// connection is an open connection to a game server that has welcomed the bot.
type connection struct {
	ws            *websocket.Conn
	silentFor     time.Duration
	isClosedByBot atomic.Bool
}

// connect sends the token of a seat and waits for the welcome. A server that is silent for longer than silentFor counts
// as dead.
func connect(ctx context.Context, client *http.Client, seat sdk.Seat, silentFor time.Duration) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*silentFor) // dialling, and then the welcome
	defer cancel()
	ws, _, err := websocket.Dial(ctx, playURL(seat.Endpoint), &websocket.DialOptions{HTTPClient: client})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReached, err)
	}
	ws.SetReadLimit(maxFrame)
	c := &connection{ws: ws, silentFor: silentFor}
	if err := c.greetServer(ctx, seat); err != nil {
		_ = ws.CloseNow()
		return nil, err
	}
	return c, nil
}

var (
	errNotReached = errors.New("game server not reached")
	errCutOff     = errors.New("cut off by the game server")
)

func playURL(endpoint string) string {
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	// The director knows a deployed server by host and port alone.
	return "ws://" + endpoint + "/play"
}

// greetServer shows the token, and waits for the welcome to the seat's session.
func (c *connection) greetServer(ctx context.Context, seat sdk.Seat) error {
	if err := c.sendMessage(ctx, game.ClientMessage{Type: game.TypeHello, Token: seat.SessionToken}); err != nil {
		return err
	}
	welcome, err := c.receiveMessage(ctx)
	if err != nil {
		return err
	}
	// Another session would mean that the token was of another seat.
	if welcome.Type != game.TypeWelcome || welcome.SessionID != seat.SessionID {
		return fmt.Errorf("game server answered %q for session %q, not a welcome to %q", welcome.Type,
			welcome.SessionID, seat.SessionID)
	}
	return nil
}

// leaveGame closes the connection, which ends the read in chaseCoins.
func (c *connection) leaveGame() {
	// Before the close, so that playUntil knows why the read fails.
	c.isClosedByBot.Store(true)
	_ = c.ws.Close(websocket.StatusNormalClosure, "bye")
}

func (c *connection) sendMessage(ctx context.Context, m game.ClientMessage) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return asCutOff(c.ws.Write(ctx, websocket.MessageText, raw))
}

func (c *connection) receiveMessage(ctx context.Context) (m game.ServerMessage, err error) {
	_, raw, err := c.ws.Read(ctx)
	if err != nil {
		return m, asCutOff(err)
	}
	return m, json.Unmarshal(raw, &m)
}

// asCutOff wraps an error of the WebSocket; nil stays nil.
func asCutOff(err error) error {
	if err == nil {
		return nil
	}
	// Both are wrapped: callers look for the close code, and for errCutOff where there is none.
	return fmt.Errorf("%w: %w", errCutOff, err)
}
