package friends

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk/lobby"
)

// silentFor is how long a game server may send nothing before it counts as dead. It sends the world ten times a second.
const silentFor = 5 * time.Second

// Play plays the game of examples/arena until ctx ends, and chases coins. admitted is called when the game server has
// admitted the player. Errors: the game server refuses the player, or ends the connection.
func (f *Friend) Play(ctx context.Context, s lobby.Seat, admitted func()) error {
	ws, _, err := websocket.Dial(ctx, s.Endpoint, nil)
	if err != nil {
		return err
	}
	defer ws.CloseNow()
	// The library's own limit is 32 KiB, which a crowded world exceeds.
	ws.SetReadLimit(maxWorld)
	if err := sendMessage(ctx, ws, game.ClientMessage{Type: game.TypeHello, Token: s.SessionToken}); err != nil {
		return err
	}
	welcome, err := receiveMessage(ctx, ws)
	if err != nil {
		return fmt.Errorf("%s is not admitted: %w", f.Name, err)
	}
	admitted()
	for {
		err := chaseCoins(ctx, ws, welcome.You)
		// The end of ctx is the planned end of the match, and ends the connection as an error would.
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s was cut off: %w", f.Name, err)
		}
	}
}

// maxWorld bounds a message of the game server, in bytes.
const maxWorld = 1 << 20

// chaseCoins reads one state of the world and steers to the nearest coin.
func chaseCoins(ctx context.Context, ws *websocket.Conn, you string) error {
	m, err := receiveMessage(ctx, ws)
	if err != nil || m.State == nil {
		return err
	}
	// For every state, ten times a second.
	return sendMessage(ctx, ws, game.ClientMessage{Type: game.TypeSteer, Heading: m.State.ToNearestCoin(you)})
}

func sendMessage(ctx context.Context, ws *websocket.Conn, m game.ClientMessage) error {
	raw, err := json.Marshal(m)
	if err != nil {
		return err
	}
	return ws.Write(ctx, websocket.MessageText, raw)
}

func receiveMessage(ctx context.Context, ws *websocket.Conn) (m game.ServerMessage, err error) {
	ctx, cancel := context.WithTimeout(ctx, silentFor)
	defer cancel()
	_, raw, err := ws.Read(ctx)
	if err != nil {
		return m, err
	}
	return m, json.Unmarshal(raw, &m)
}
