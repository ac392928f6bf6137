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

// maxStolen is how many tokens the thief shows at a time.
const maxStolen = 5

// steal shows game servers the tokens of players who are connected, as an eavesdropper could, and counts the refusals. The
// players stay connected; the other proofs would notice if they did not.
func (p *players) steal(ctx context.Context) (shown, refused int) {
	for _, b := range p.Stats().Bots {
		stolen, ok := p.redeemedToken(b)
		if !ok || shown == maxStolen {
			continue
		}
		admitted, err := show(ctx, stolen)
		if err != nil {
			continue // the server may just have been killed, which is no refusal
		}
		shown++
		if !admitted {
			refused++
		}
	}
	return shown, refused
}

// redeemedToken returns the newest token of a bot if the bot plays with it: a token that is not redeemed yet admits anybody.
func (p *players) redeemedToken(b bots.BotStats) (newest answer, ok bool) {
	tokens := p.answers.where(func(a answer) bool { return a.player == b.Name && a.Token != "" })
	if !b.Playing || len(tokens) == 0 {
		return answer{}, false
	}
	newest, visit := tokens[len(tokens)-1], b.Visits[len(b.Visits)-1]
	return newest, newest.Session == visit.SessionID && newest.at.Before(visit.At)
}

// show reports whether a game server admits the bearer of a token. Errors: the server did not answer.
func show(ctx context.Context, a answer) (admitted bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	ws, _, err := websocket.Dial(ctx, a.Endpoint, nil) //nolint:bodyclose // the library does
	if err != nil {
		return false, err
	}
	defer ws.CloseNow()
	hello, err := json.Marshal(game.ClientMessage{Type: game.TypeHello, Token: a.Token})
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
