package bots

import (
	"context"
	"math/rand/v2"
	"sync"

	"github.com/lattice-director/director/sdk"
)

// party is a group of bots that are matched together. The first one calls matchmake or queues for all; each resolves
// and plays by itself.
type party struct {
	config   *Config
	members  []*bot
	gameMode string
	profile  string // to queue for; "": the party calls matchmake
	rng      *rand.Rand
}

// newParty makes the nth party of a swarm, from 0: it plays the nth mode, in turn.
func newParty(config *Config, n int, members []*bot) *party {
	mode := config.Modes[n%len(config.Modes)]
	return &party{
		config: config, members: members, gameMode: mode, profile: config.Profiles[mode],
		// A stream for each party: what one draws does not depend on when others draw.
		rng: rand.New(rand.NewPCG(config.Seed, uint64(n)+1)),
	}
}

// runRounds plays one match after the other.
func (p *party) runRounds(ctx context.Context) {
	for ctx.Err() == nil {
		p.playRound(ctx)
		// Drawn at random, so that parties do not queue in step.
		pauseFor(ctx, p.config.Rest.drawDuration(p.rng))
	}
}

// playRound waits for a match and plays it, until all members have left.
func (p *party) playRound(ctx context.Context) {
	match, err := p.awaitMatch(ctx)
	// Only the end of ctx: all other errors are retried.
	if err != nil {
		return
	}
	// Drawn once, since a party leaves together.
	stay := p.config.PlayFor.drawDuration(p.rng)
	var playing sync.WaitGroup
	for _, b := range p.members {
		playing.Go(func() { b.playMatch(ctx, match, stay) })
	}
	playing.Wait()
}

// awaitMatch waits for a match of the whole party.
func (p *party) awaitMatch(ctx context.Context) (sdk.Match, error) {
	if p.profile != "" {
		return p.matchByTicket(ctx)
	}
	return p.matchByMatchmake(ctx)
}

// matchByMatchmake calls matchmake until there are seats for all. Two errors are usual and pass: no capacity, and a
// conflict because the director does not know yet that a member's last match is over.
func (p *party) matchByMatchmake(ctx context.Context) (sdk.Match, error) {
	leader := p.members[0]
	req := sdk.MatchRequest{Region: p.config.Region, Mode: p.gameMode, MaxPlayers: p.config.MaxPlayers}
	for _, b := range p.members[1:] {
		req.Party = append(req.Party, b.name)
	}
	// A party lists the caller as well; a player alone is no party.
	if len(req.Party) > 0 {
		req.Party = append(req.Party, leader.name)
	}
	return retryForever(ctx, leader, func() (sdk.Match, error) { return leader.player.Matchmake(ctx, req) })
}
