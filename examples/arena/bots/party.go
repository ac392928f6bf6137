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
	swarm   *Swarm
	members []*bot
	mode    string
	profile string // to queue for; "": the party calls matchmake
	rng     *rand.Rand
}

func (s *Swarm) newParty(members []*bot) *party {
	n := len(s.parties)
	mode := s.cfg.Modes[n%len(s.cfg.Modes)]
	return &party{
		swarm: s, members: members, mode: mode, profile: s.cfg.Profiles[mode],
		rng: rand.New(rand.NewPCG(s.cfg.Seed, uint64(n)+1)),
	}
}

// run plays one match after the other.
func (p *party) run(ctx context.Context) {
	for ctx.Err() == nil {
		p.match(ctx)
		p.swarm.pause(ctx, p.swarm.cfg.Rest.draw(p.rng))
	}
}

func (p *party) match(ctx context.Context) {
	match, err := p.matched(ctx)
	if err != nil {
		return
	}
	stay := p.swarm.cfg.PlayFor.draw(p.rng)
	var playing sync.WaitGroup
	for _, b := range p.members {
		playing.Go(func() { b.play(ctx, match, stay) })
	}
	playing.Wait()
}

func (p *party) matched(ctx context.Context) (sdk.Match, error) {
	if p.profile != "" {
		return p.queue(ctx)
	}
	return p.gather(ctx)
}

// gather calls matchmake until there are seats for all. Two errors are usual and pass: no capacity, and a conflict
// because the director does not know yet that a member's last match is over.
func (p *party) gather(ctx context.Context) (sdk.Match, error) {
	leader := p.members[0]
	req := p.request()
	for _, b := range p.members[1:] {
		req.Party = append(req.Party, b.name)
	}
	// A party lists the caller as well; a player alone is no party.
	if len(req.Party) > 0 {
		req.Party = append(req.Party, leader.name)
	}
	return retryForever(ctx, leader, func() (sdk.Match, error) { return leader.player.Matchmake(ctx, req) })
}

func (p *party) request() sdk.MatchRequest {
	return sdk.MatchRequest{Region: p.swarm.cfg.Region, Mode: p.mode, MaxPlayers: p.swarm.cfg.MaxPlayers}
}

// retryForever repeats do with growing pauses until it succeeds or ctx ends, and counts errors.
func retryForever[T any](ctx context.Context, b *bot, do func() (T, error)) (T, error) {
	return backoff.Retry(ctx, func() (T, error) {
		got, err := do()
		if err != nil && ctx.Err() == nil {
			b.failed(ctx, err)
		}
		return got, err
	}, backoff.WithBackOff(pauses()), backoff.WithMaxElapsedTime(0))
}

// pauses grow from 0.2 to 2 seconds: until the lease of a dead server expires, the director still sends its players
// there, and connecting fails at once.
func pauses() *backoff.ExponentialBackOff {
	p := backoff.NewExponentialBackOff()
	p.InitialInterval, p.MaxInterval = 200*time.Millisecond, 2*time.Second
	return p
}

func (s *Swarm) pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
