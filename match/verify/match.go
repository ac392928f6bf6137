package verify

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/match"
	"github.com/lattice-director/director/match/profile"
)

// Match is a match that somebody decided on. Tickets and Seats are those of its newcomers.
type Match struct {
	Tickets []match.Ticket
	Seats   []Seat // one a player
	Mode    string // of the session; "": not chosen yet
	// Region is the game region of the session; "": not chosen yet, so that rules on latencies hold if one region
	// satisfies all of them.
	Region string
	// Chosen are the values that common rules chose, by attribute; nil: not chosen yet.
	Chosen map[string]string
	Joins  *Session // the session that the newcomers join; nil: the match is a new one
}

// Seat is the place of one player in a match.
type Seat struct {
	Ticket, Sub, Team string
	Role              string // "": none
}

// Session is a playing match that newcomers join.
type Session struct {
	Started time.Time
	Roster  []RosterPlayer
}

// RosterPlayer is a player of a roster. Players whose seats name the same ticket are a party; one without a ticket is
// alone.
type RosterPlayer struct {
	Seat       Seat
	Attributes match.Attributes
	Latencies  map[string]uint16 // in milliseconds, by region; nil: not known, which fails no rule
}

// Violation is a condition that does not hold.
type Violation struct {
	// Rule is the id of the profile's rule, or one of "candidate", "whole", "once", "teams", "parties", "roles",
	// "mode", "join_in_progress", "chosen" and "trade".
	Rule string
	Text string // what is wrong, and with whom
	// Value is what was measured and Limit what is allowed; both 0 where neither is a number.
	Value, Limit float64
}

// newViolation returns the violation of a condition on something that is not a number.
func newViolation(rule, format string, args ...any) Violation {
	return Violation{Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// measuredViolation returns the violation of a condition on a number.
func measuredViolation(rule string, value, limit float64, format string, args ...any) Violation {
	return Violation{Rule: rule, Text: fmt.Sprintf(format, args...), Value: value, Limit: limit}
}

// checker is a match with what rules read of it.
type checker struct {
	p           *profile.Profile
	match       Match
	now         time.Time
	members     []member                 // sorted by ticket and sub
	ageByTicket map[string]time.Duration // of the newcomers' tickets
	sortedAges  []time.Duration          // those of ageByTicket, ascending
	region      string                   // in which rules are checked: that of the match, or one that is tried
}

// member is a player of a match: a newcomer, or one of the roster.
type member struct {
	seat       Seat
	attributes match.Attributes
	latencies  map[string]uint16 // in milliseconds, by region
	ticketAge  time.Duration     // 0 in a roster, whose players do not wait
	inRoster   bool
}

// newChecker collects the players of a match, newcomers and roster, with what rules read of them.
func newChecker(p *profile.Profile, m Match, now time.Time) *checker {
	c := &checker{p: p, match: m, now: now, ageByTicket: map[string]time.Duration{}, region: m.Region}
	tickets := map[string]match.Ticket{}
	for _, t := range m.Tickets {
		tickets[t.ID] = t
		c.ageByTicket[t.ID] = now.Sub(t.Created)
	}
	c.sortedAges = slices.Sorted(maps.Values(c.ageByTicket))
	for _, s := range m.Seats {
		t := tickets[s.Ticket]
		c.members = append(c.members, member{seat: s, attributes: attributesOf(t, s.Sub), latencies: t.Latencies,
			ticketAge: c.ageByTicket[s.Ticket]})
	}
	if m.Joins != nil {
		for _, player := range m.Joins.Roster {
			c.members = append(c.members, member{seat: inParty(player.Seat), attributes: player.Attributes,
				latencies: player.Latencies, inRoster: true})
		}
	}
	// A sum of floating-point numbers depends on their order, which must not be that of the seats.
	slices.SortStableFunc(c.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.seat.Ticket, b.seat.Ticket), cmp.Compare(a.seat.Sub, b.seat.Sub))
	})
	return c
}

// attributesOf returns the attributes of a player of a ticket; nil for one whom the ticket does not have, which
// checkWhole reports.
func attributesOf(t match.Ticket, sub string) match.Attributes {
	for _, p := range t.Players {
		if p.Sub == sub {
			return p.Attributes
		}
	}
	return nil
}

// inParty returns the seat with a ticket: a player of a roster without one is a party that has the player's name.
func inParty(s Seat) Seat {
	s.Ticket = cmp.Or(s.Ticket, s.Sub)
	return s
}

// membersIn returns the players of a team; of "" all of the match. The slice is the caller's.
func (c *checker) membersIn(team string) (found []member) {
	for _, m := range c.members {
		if team == "" || m.seat.Team == team {
			found = append(found, m)
		}
	}
	return found
}
