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
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	"github.com/lattice-director/director/sdk"
)

// Config configures a [Swarm]. Director, AccessToken, Region and Modes are required.
type Config struct {
	Director *sdk.Client
	// AccessToken yields the access token of a player. It must be safe for concurrent use.
	AccessToken func(ctx context.Context, sub string) (string, error)
	// Count is how many bots there are, named bot-001 and so on. Default 8. Names replaces "bot", so that
	// two swarms at one director are different players.
	Count  int
	Names  string
	Region string
	// Modes are distributed to the parties in turn.
	Modes []string
	// Profiles are the profiles that parties of a mode queue for. Parties of other modes call matchmake. Bots have a
	// number "skill", and members of a party have about the same.
	Profiles map[string]string
	// MaxParty is the size of the largest party; sizes from 1 to it are equally likely. Default 1: bots play alone.
	MaxParty int
	// MaxPlayers is the requested size of sessions. Default 8.
	MaxPlayers int
	// PlayFor and Rest say how long a match is played and how long the pause after it is. Defaults 5 to 20 s, 0.2 to 2
	// s.
	PlayFor, Rest Span
	// SilentFor is after how long without a message a server counts as dead. Default 5 s.
	SilentFor time.Duration
	// Logger logs errors; nil logs nothing.
	Logger *slog.Logger
	// Seed makes parties and pauses repeatable. 0 takes a random one.
	Seed uint64
}

// Span is a length of time to be drawn at random.
type Span struct{ Min, Max time.Duration }

func (s Span) drawDuration(rng *rand.Rand) time.Duration {
	if s.Max <= s.Min {
		return s.Min
	}
	return s.Min + time.Duration(rng.Int64N(int64(s.Max-s.Min)))
}

func (s Span) orDefault(otherwise Span) Span {
	if s == (Span{}) {
		return otherwise
	}
	return s
}

func (c Config) withDefaults() Config {
	c.Count = max(c.Count, 0)
	if c.Count == 0 {
		c.Count = 8
	}
	c.MaxParty = max(c.MaxParty, 1)
	if c.MaxPlayers == 0 {
		c.MaxPlayers = 8
	}
	c.PlayFor = c.PlayFor.orDefault(Span{5 * time.Second, 20 * time.Second})
	c.Rest = c.Rest.orDefault(Span{200 * time.Millisecond, 2 * time.Second})
	if c.SilentFor <= 0 {
		c.SilentFor = 5 * time.Second
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Seed == 0 {
		c.Seed = rand.Uint64()
	}
	return c
}

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
	s := &Swarm{botsConfig: cfg, httpClient: &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment}}}
	rng := rand.New(rand.NewPCG(cfg.Seed, 0))
	for len(s.allBots) < cfg.Count {
		s.addParty(min(1+rng.IntN(cfg.MaxParty), cfg.Count-len(s.allBots)), rng)
	}
	return s, nil
}

// addParty makes bots whose skills are near each other.
func (s *Swarm) addParty(size int, rng *rand.Rand) {
	first, skill := len(s.allBots), 1500+300*rng.NormFloat64()
	for range size {
		s.allBots = append(s.allBots, s.newBot(fmt.Sprintf("%s-%03d", cmp.Or(s.botsConfig.Names, "bot"),
			len(s.allBots)+1),
			math.Round(skill+50*rng.NormFloat64())))
	}
	s.parties = append(s.parties, s.newParty(s.allBots[first:]))
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
