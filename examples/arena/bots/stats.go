package bots

import (
	"slices"
	"time"
)

// maxVisits bounds the memory of a bot that plays for days; older visits are dropped.
const maxVisits = 256

// Reason says how a bot came to a server.
type Reason string

// How a visit came about.
const (
	Matched  Reason = "matched"  // a new match
	Rejoined Reason = "rejoined" // disconnected, then connected to the same session again
	Moved    Reason = "moved"    // disconnected, then seated in another session
)

// Visit is one connection that a game server welcomed.
type Visit struct {
	StartedAt time.Time `json:"at"`
	Endpoint  string    `json:"endpoint"`
	SessionID string    `json:"session_id"`
	Reason    Reason    `json:"reason"`
}

// BotStats is the statistics of one bot.
type BotStats struct {
	Name string `json:"name"`
	// Playing reports whether the bot is connected now; its last visit says where.
	Playing bool `json:"playing"`
	// Matches, Rejoins and Moves count all visits by reason.
	Matches int `json:"matches"`
	Rejoins int `json:"rejoins"`
	Moves   int `json:"moves"`
	// States counts the states of worlds that it received, Coins the coins that it picked up.
	States int `json:"states"`
	Coins  int `json:"coins"`
	// Errors counts errors by kind, such as "no_capacity" or "cut_off"; LastError is the newest, for people.
	Errors    map[string]int `json:"errors"`
	LastError string         `json:"last_error,omitempty"`
	// Visits are the last 256, oldest first.
	Visits []Visit `json:"visits"`
}

// Servers lists the endpoints the bot was welcomed at, in the order of the first visit.
func (b BotStats) Servers() (endpoints []string) {
	for _, v := range b.Visits {
		if !slices.Contains(endpoints, v.Endpoint) {
			endpoints = append(endpoints, v.Endpoint)
		}
	}
	return endpoints
}

// Stats is the statistics of a swarm.
type Stats struct {
	Bots []BotStats `json:"bots"`
}

// Total is the sum over all bots; its name, visits and last error are empty.
func (s Stats) Total() BotStats {
	total := BotStats{Errors: map[string]int{}}
	for _, b := range s.Bots {
		total.Matches += b.Matches
		total.Rejoins += b.Rejoins
		total.Moves += b.Moves
		total.States += b.States
		total.Coins += b.Coins
		for kind, n := range b.Errors {
			total.Errors[kind] += n
		}
	}
	return total
}

// Playing counts the bots that are connected, by endpoint.
func (s Stats) Playing() map[string]int {
	by := map[string]int{}
	for _, b := range s.Bots {
		if b.Playing {
			by[b.Visits[len(b.Visits)-1].Endpoint]++
		}
	}
	return by
}
