package main

import (
	"context"

	"github.com/lattice-director/director/examples/arena/bots"
	"github.com/lattice-director/director/sdk"
)

// maxStolen is how many tokens the thief shows at a time.
const maxStolen = 5

// stealTokens shows game servers the tokens of players who are connected, as an eavesdropper could, and counts the
// refusals. The players stay connected; the other proofs would notice if they did not.
func (p *players) stealTokens(ctx context.Context) (shown, refused int) {
	for _, b := range p.botSwarm.Stats().Bots {
		if shown == maxStolen {
			break
		}
		stolen, ok := p.redeemedToken(b)
		if !ok {
			continue
		}
		match := sdk.Match{SessionID: stolen.matchTicket.SessionID, Endpoint: stolen.matchTicket.Endpoint}
		admitted, err := p.botSwarm.TryToken(ctx, sdk.Seat{Match: match, SessionToken: stolen.matchTicket.SessionToken})
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

// redeemedToken returns the newest token of a bot if the bot plays with it: a token that is not redeemed yet admits
// anybody.
func (p *players) redeemedToken(b bots.BotStats) (newest answer, ok bool) {
	hasToken := func(a answer) bool { return a.playerName == b.Name && a.matchTicket.SessionToken != "" }
	tokens := p.answers.findWhere(hasToken)
	if !b.Playing || len(tokens) == 0 {
		return answer{}, false
	}
	newest, visit := tokens[len(tokens)-1], b.Visits[len(b.Visits)-1]
	return newest, newest.matchTicket.SessionID == visit.SessionID && newest.answeredAt.Before(visit.StartedAt)
}
