package bots

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"

	"github.com/lattice-director/director/sdk"
)

// party is a group of bots that are matched together. The first one calls matchmake or queues for all; each resolves
// and plays by itself.
type party struct {
	swarm    *Swarm
	members  []*bot
	gameMode string
	profile  string // to queue for; "": the party calls matchmake
	rng      *rand.Rand
}

func (s *Swarm) newParty(members []*bot) *party {
	n := len(s.parties)
	mode := s.botsConfig.Modes[n%len(s.botsConfig.Modes)]
	return &party{
		swarm: s, members: members, gameMode: mode, profile: s.botsConfig.Profiles[mode],
		rng: rand.New(rand.NewPCG(s.botsConfig.Seed, uint64(n)+1)),
	}
}

// runRounds plays one match after the other.
func (p *party) runRounds(ctx context.Context) {
	for ctx.Err() == nil {
		p.matchOnce(ctx)
		p.swarm.pauseFor(ctx, p.swarm.botsConfig.Rest.drawDuration(p.rng))
	}
}

func (p *party) matchOnce(ctx context.Context) {
	match, err := p.awaitMatch(ctx)
	if err != nil {
		return
	}
	stay := p.swarm.botsConfig.PlayFor.drawDuration(p.rng)
	var playing sync.WaitGroup
	for _, b := range p.members {
		playing.Go(func() { b.playMatch(ctx, match, stay) })
	}
	playing.Wait()
}

func (p *party) awaitMatch(ctx context.Context) (sdk.Match, error) {
	if p.profile != "" {
		return p.queueTicket(ctx)
	}
	return p.gatherMatch(ctx)
}

// gatherMatch calls matchmake until there are seats for all. Two errors are usual and pass: no capacity, and a conflict
// because the director does not know yet that a member's last match is over.
func (p *party) gatherMatch(ctx context.Context) (sdk.Match, error) {
	leader := p.members[0]
	req := p.matchRequest()
	for _, b := range p.members[1:] {
		req.Party = append(req.Party, b.name)
	}
	// A party lists the caller as well; a player alone is no party.
	if len(req.Party) > 0 {
		req.Party = append(req.Party, leader.name)
	}
	return retryForever(ctx, leader, func() (sdk.Match, error) { return leader.player.Matchmake(ctx, req) })
}

func (p *party) matchRequest() sdk.MatchRequest {
	return sdk.MatchRequest{Region: p.swarm.botsConfig.Region, Mode: p.gameMode,
		MaxPlayers: p.swarm.botsConfig.MaxPlayers}
}

// retryForever repeats do with growing pauses until it succeeds or ctx ends, and counts errors.
func retryForever[T any](ctx context.Context, b *bot, do func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		got, err := do()
		if err != nil && ctx.Err() == nil {
			b.noteFailure(ctx, err)
		}
		return got, err
	}, backoff.WithBackOff(newPauses()), backoff.WithMaxElapsedTime(0))
}

// newPauses grow from 0.2 to 2 seconds: until the lease of a dead server expires, the director still sends its players
// there, and connecting fails at once.
func newPauses() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval = 200*time.Millisecond, 2*time.Second
	return p
}

func (s *Swarm) pauseFor(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
