// Package bots plays the arena: a swarm of players who get matched, alone or as parties, connect, chase coins for a
// while, leave, rest and start over. When their server dies, they ask the director for a seat again.
//
// A [Swarm] keeps statistics, for a demo or a load test. The caller supplies the players' access tokens; [Issuer] makes
// them for a director that trusts a development key.
package bots

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"

	"github.com/coder/websocket"

	"github.com/lattice-director/director/examples/arena/game"
	"github.com/lattice-director/director/sdk"
)

// Swarm is a number of bots. Stats may be called at any time, also after Run.
type Swarm struct {
	botsConfig Config
	httpClient *http.Client
	allBots    []*bot
	parties    []*party
}

// New makes the bots and their parties. Nothing is called before Run.
func New(cfg Config) (*Swarm, error) {
	cfg = cfg.withDefaults()
	if cfg.Director == nil || cfg.AccessToken == nil || cfg.Region == "" || len(cfg.Modes) == 0 {
		return nil, errors.New("bots: Director, AccessToken, Region and Modes are required")
	}
	if cfg.MaxParty > cfg.MaxPlayers {
		return nil, fmt.Errorf("bots: a party of %d does not fit into a session of %d", cfg.MaxParty, cfg.MaxPlayers)
	}
	// A transport of its own: Run closes its idle connections, and not those of others.
	s := &Swarm{botsConfig: cfg, httpClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	// This stream of random numbers makes the parties. Each party plays by a stream of its own: see newParty.
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	// The last party is smaller, so that the number of bots is exact.
	for len(s.allBots) < cfg.Count {
		s.addParty(min(1+rng.IntN(cfg.MaxParty), cfg.Count-len(s.allBots)), rng)
	}
	return s, nil
}

// addParty adds a party of new bots whose skills are near each other.
func (s *Swarm) addParty(size int, rng *rand.Rand) {
	// Normally distributed around 1500, as ratings are: in the middle a match is found soon, at the ends it takes
	// longer. Friends play about equally well.
	first, skill := len(s.allBots), 1500+300*rng.NormFloat64()
	for range size {
		name := fmt.Sprintf("%s-%03d", cmp.Or(s.botsConfig.Names, "bot"), len(s.allBots)+1)
		rating := math.Round(skill + 50*rng.NormFloat64())
		s.allBots = append(s.allBots, newBot(&s.botsConfig, s.httpClient, name, rating))
	}
	s.parties = append(s.parties, newParty(&s.botsConfig, len(s.parties), s.allBots[first:]))
}

// Skills returns the skill of each bot.
func (s *Swarm) Skills() map[string]float64 {
	all := make(map[string]float64, len(s.allBots))
	for _, b := range s.allBots {
		all[b.name] = b.skillRating
	}
	return all
}

// Parties returns the names of the bots that play together.
func (s *Swarm) Parties() (all [][]string) {
	for _, p := range s.parties {
		var names []string
		for _, b := range p.members {
			names = append(names, b.name)
		}
		all = append(all, names)
	}
	return all
}

// Run runs the bots until ctx ends; they then leave their servers cleanly. It returns when all have left.
func (s *Swarm) Run(ctx context.Context) {
	defer s.httpClient.CloseIdleConnections()
	var playing sync.WaitGroup
	for _, p := range s.parties {
		playing.Go(func() { p.runRounds(ctx) })
	}
	playing.Wait()
}

// Stats takes a copy of all statistics. It may be called while the swarm runs.
func (s *Swarm) Stats() Stats {
	all := Stats{}
	for _, b := range s.allBots {
		all.Bots = append(all.Bots, b.record.copyStats())
	}
	return all
}

// TryToken connects to the game server of a seat as a bot does, and disconnects at once. It returns whether the server
// admitted the bearer of the token. Errors: the server was not reached, or neither admitted nor refused the token.
func (s *Swarm) TryToken(ctx context.Context, seat sdk.Seat) (admitted bool, err error) {
	c, err := connect(ctx, s.httpClient, seat, s.botsConfig.SilentFor)
	if websocket.CloseStatus(err) == game.StatusRefused {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	return true, c.ws.CloseNow()
}
