package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/lattice-director/director/sdk"
)

// queueAsCheat queues for ranked play as a client that was changed: with a skill of its own choice, of which the login
// knows nothing, and in a party with a player who never asked for it.
func (p *players) queueAsCheat(ctx context.Context) (tried, refused int) {
	weak := map[string]any{"skill": 400}
	player := sdk.NewPlayer(p.client,
		func(ctx context.Context) (string, error) { return p.answers.accessToken(ctx, "cheat") })
	for _, request := range []sdk.TicketRequest{
		{Attributes: weak},
		{Players: map[string]sdk.TicketPlayer{"cheat": {Attributes: weak}}},
		// The backend lets bot-001 party with its own party alone: see storeFacts.
		{Party: []string{"bot-001", "cheat"}, Attributes: weak},
	} {
		request.Profiles = []string{profileName}
		_, err := player.Queue(ctx, request)
		tried++
		if errors.Is(err, sdk.ErrInvalid) || errors.Is(err, sdk.ErrForbidden) {
			refused++
		}
	}
	return tried, refused
}

// tryCheating lets the cheat queue, and adds up how many tickets were refused.
func (c *chaos) tryCheating(ctx context.Context) error {
	tried, refused := c.proofJudge.players.queueAsCheat(ctx)
	c.proofJudge.chaosRecord.cheatsTried += tried
	c.proofJudge.chaosRecord.cheatsRefused += refused
	c.screen.eventf("·", "a changed client says that its skill is 400, and takes a stranger along: %d of %d refused",
		refused, tried)
	return nil
}

// cheatRefused proves that a client cannot choose a player's skill or party.
func (j *judge) cheatRefused() proof {
	return proof{
		claim: "Nobody was ranked by their own word",
		holds: j.chaosRecord.cheatsTried > 0 && j.chaosRecord.cheatsTried == j.chaosRecord.cheatsRefused,
		evidenceText: fmt.Sprintf("%d of %d tickets of a changed client were refused", j.chaosRecord.cheatsRefused,
			j.chaosRecord.cheatsTried),
	}
}
