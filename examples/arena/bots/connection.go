package bots

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	isClosedByBot atomic.Bool // the bot closed it
}

// connectBot sends the token of a seat and waits for the welcome.
func (s *Swarm) connectBot(ctx context.Context, seat sdk.Seat) (*connection, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*s.botsConfig.SilentFor)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, playURL(seat.Endpoint), &websocket.DialOptions{HTTPClient: s.httpClient})
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNotReached, err)
	}
	ws.SetReadLimit(maxFrame)
	c := &connection{ws: ws, silentFor: s.botsConfig.SilentFor}
	if err := c.greetServer(ctx, seat); err != nil {
		_ = ws.CloseNow()
		return nil, err
	}
	return c, nil
}

// Try connects to the game server of a seat as a bot does, and disconnects at once. It returns whether the server
// admitted the bearer of the token. Errors: the server was not reached, or neither admitted nor refused the token.
func (s *Swarm) Try(ctx context.Context, seat sdk.Seat) (admitted bool, err error) {
	c, err := s.connectBot(ctx, seat)
	if websocket.CloseStatus(err) == game.StatusRefused {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, c.ws.CloseNow()
}

var (
	errNotReached = errors.New("game server not reached")
	errCutOff     = errors.New("cut off by the game server")
)

func playURL(endpoint string) string {
	if strings.Contains(endpoint, "://") {
		return endpoint
	}
	return "ws://" + endpoint + "/play"
}

func (c *connection) greetServer(ctx context.Context, seat sdk.Seat) error {
	if err := c.sendMessage(ctx, game.ClientMessage{Type: game.TypeHello, Token: seat.SessionToken}); err != nil {
		return err
	}
	welcome, err := c.receiveMessage(ctx)
	if err != nil {
		return err
	}
	if welcome.Type != game.TypeWelcome || welcome.SessionID != seat.SessionID {
		return fmt.Errorf("game server answered %q for session %q, not a welcome to %q", welcome.Type,
			welcome.SessionID, seat.SessionID)
	}
	return nil
}

// playUntil chases coins until the time is over or ctx ends; neither is an error.
func (c *connection) playUntil(ctx context.Context, b *bot, stay time.Duration) error {
	timer := time.AfterFunc(stay, c.leaveGame)
	defer timer.Stop()
	stop := context.AfterFunc(ctx, c.leaveGame)
	defer stop()
	defer func() { _ = c.ws.CloseNow() }()
	for {
		err := c.chaseCoins(context.WithoutCancel(ctx), b) // the end of ctx closes the connection, see leave
		switch {
		case err == nil:
		case c.isClosedByBot.Load():
			return nil
		default:
			return err
		}
	}
}

// leaveGame closes the connection, which ends the reading in play.
func (c *connection) leaveGame() {
	c.isClosedByBot.Store(true)
	_ = c.ws.Close(websocket.StatusNormalClosure, "bye")
}

// chaseCoins reads one state of the world and steers to the nearest coin. A server that sends nothing for SilentFor counts
// as dead, even if its machine keeps the connection open.
func (c *connection) chaseCoins(ctx context.Context, b *bot) error {
	ctx, cancel := context.WithTimeout(ctx, c.silentFor)
	defer cancel()
	m, err := c.receiveMessage(ctx)
	if err != nil || m.State == nil {
		return err
	}
	b.record.noteState(m.State)
	if m.State.Tick%3 != 0 {
		return nil // steering three times a second is enough
	}
	return c.sendMessage(ctx, game.ClientMessage{Type: game.TypeSteer, Heading: m.State.ToNearestCoin(b.name)})
}

func (c *connection) sendMessage(ctx context.Context, m game.ClientMessage) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return cutOff(c.ws.Write(ctx, websocket.MessageText, raw))
}

func (c *connection) receiveMessage(ctx context.Context) (m game.ServerMessage, err error) {
	_, raw, err := c.ws.Read(ctx)
	if err != nil {
		return m, cutOff(err)
	}
	return m, json.Unmarshal(raw, &m)
}

func cutOff(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errCutOff, err)
}
