package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/examples/arena/game"
)

// loot is how many tokens the thief shows at a time.
const loot = 5

// steal shows game servers the tokens of players who are playing on them, as somebody could who listened on the way, and
// counts how many were refused. The owners go on playing, which the other proofs would notice.
func (p *players) steal(ctx context.Context) (tried, refused int) {
	for _, b := range p.Stats().Bots {
		stolen, ok := p.spent(b)
		if !ok || tried == loot {
			continue
		}
		admitted, err := show(ctx, stolen)
		if err != nil {
			continue // The server may have been killed a moment ago; that is no refusal.
		}
		tried++
		if !admitted {
			refused++
		}
	}
	return tried, refused
}

// spent is the token that a bot came in with, if it still plays: one that it has not shown yet would let the thief in,
// and rightly so.
func (p *players) spent(b bots.BotStats) (ticket, bool) {
	if !b.Playing {
		return ticket{}, false
	}
	visit := b.Visits[len(b.Visits)-1]
	newest, ok := p.witness.ticketOf(b.Name)
	return newest, ok && newest.Session == visit.SessionID && newest.at.Before(visit.At)
}

// show says whether a game server admits the bearer of a token. The error says that the server did not answer.
func show(ctx context.Context, t ticket) (admitted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, t.Endpoint, nil) //nolint:bodyclose // the library does
	if err != nil {
		return false, err
	}
	defer ws.CloseNow()
	hello, err := json.Marshal(game.ClientMessage{Type: game.TypeHello, Token: t.Token})
	if err != nil {
		return false, err
	}
	if err := ws.Write(ctx, websocket.MessageText, hello); err != nil {
		return false, err
	}
	_, _, err = ws.Read(ctx)
	switch {
	case err == nil:
		return true, nil
	case websocket.CloseStatus(err) == game.StatusRefused:
		return false, nil
	}
	return false, fmt.Errorf("neither admitted nor refused: %w", err)
}
