package main

import (
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/matching/ticketbody"
)

// store returns the configuration of the database. Package db does not decode bodies of tickets: it gets functions
// for what it stores of them.
func (c *Config) store() db.Config {
	cfg := c.Database
	cfg.DescribeTicket, cfg.PlayersOf = c.describeTicket, c.playersOf
	cfg.NoHistory, cfg.Universe = c.keepsNoHistory(), c.Server.Universe
	return cfg
}

// keepsNoHistory reports whether matches and the tickets that left the queue are not recorded.
// The setting has 0 for none, and the option a negative time: see durationOrNoneValue.
func (c *Config) keepsNoHistory() bool { return c.Worker.MatchRetention < 0 }

// describeTicket returns what history keeps of a ticket. A body that cannot be read has no attributes.
func (c *Config) describeTicket(body []byte, party []string) db.TicketFacts {
	facts := db.TicketFacts{Party: c.HistoryPrivacy.Party(party)}
	// The id and the time are left out, since only the players and their attributes are read. A body that this release
	// cannot read is no reason to refuse the ticket's history.
	if t, err := ticketbody.Decode("", time.Time{}, body, c.Server.PlayerArg); err == nil {
		facts.Attributes, facts.Latencies = c.HistoryPrivacy.Facts(t)
	}
	return facts
}

// playersOf returns the players that the body of a ticket names; none where it cannot be read.
func (c *Config) playersOf(body []byte) (subs []string) {
	t, err := ticketbody.Decode("", time.Time{}, body, c.Server.PlayerArg)
	if err != nil {
		return nil
	}
	for _, player := range t.Players {
		subs = append(subs, player.Sub)
	}
	return subs
}
