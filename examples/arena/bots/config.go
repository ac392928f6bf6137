package bots

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/lattice-director/director/sdk"
)

// Config configures a [Swarm]. Director, AccessToken, Region and Modes are required.
type Config struct {
	Director *sdk.Client
	// AccessToken yields the access token of a player. It must be safe for concurrent use.
	AccessToken func(ctx context.Context, sub string) (string, error)
	// Count is how many bots there are. Default 8.
	Count int
	// Names is what the names of the bots begin with, so that two swarms at one director are different players.
	// Default "bot", for bot-001 and so on.
	Names  string
	Region string
	// Modes are distributed to the parties in turn.
	Modes []string
	// Profiles are the profiles that parties queue for, by mode. Parties of other modes call matchmake. The tickets
	// have a number "skill" of each bot, which is about the same for the members of a party.
	Profiles map[string]string
	// MaxParty is the size of the largest party; sizes from 1 to it are equally likely. Default 1: bots play alone.
	MaxParty int
	// MaxPlayers is the requested size of sessions. Default 8.
	MaxPlayers int
	// PlayFor is how long bots stay in a match, Rest how long they pause after it. Defaults 5 to 20 s and 0.2 to 2 s.
	PlayFor, Rest Span
	// SilentFor is after how long without a message a server counts as dead. Default 5 s.
	SilentFor time.Duration
	// Logger logs errors; nil logs nothing.
	Logger *slog.Logger
	// Seed makes parties and pauses repeatable. 0 stands for a random seed.
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
	if c.Count <= 0 {
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
