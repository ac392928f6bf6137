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
	Roster  []Seated
}

// Seated is a player of a roster. Players whose seats name the same ticket are a party; one without a ticket is alone.
type Seated struct {
	Seat       Seat
	Attributes match.Attributes
	Latencies  map[string]uint16 // nil: not known, which fails no rule
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

// member is a player of a match: a newcomer, or of the roster.
type member struct {
	seat       Seat
	attributes match.Attributes
	latencies  map[string]uint16
	ticketAge  time.Duration // of its ticket; of no meaning in a roster
	isSeated   bool
}

// game is a match with what rules read of it.
type game struct {
	p           *profile.Profile
	match       Match
	now         time.Time
	members     []member                 // by ticket and sub
	ageByTicket map[string]time.Duration // of the newcomers' tickets
	sortedAges  []time.Duration          // the same, ascending
	matchRegion string
}

// newGame collects the players of a match, newcomers and roster, with what rules read of them.
func newGame(p *profile.Profile, m Match, now time.Time) *game {
	g := &game{p: p, match: m, now: now, ageByTicket: map[string]time.Duration{}, matchRegion: m.Region}
	tickets := map[string]match.Ticket{}
	for _, t := range m.Tickets {
		tickets[t.ID], g.ageByTicket[t.ID] = t, now.Sub(t.Created)
	}
	g.sortedAges = slices.Sorted(maps.Values(g.ageByTicket))
	for _, s := range m.Seats {
		t := tickets[s.Ticket]
		g.members = append(g.members, member{seat: s, attributes: attributesOf(t, s.Sub), latencies: t.Latencies,
			ticketAge: g.ageByTicket[s.Ticket]})
	}
	if m.Joins != nil {
		for _, s := range m.Joins.Roster {
			if s.Seat.Ticket == "" {
				// Alone: a party that is named after its player.
				s.Seat.Ticket = s.Seat.Sub
			}
			g.members = append(g.members,
				member{seat: s.Seat, attributes: s.Attributes, latencies: s.Latencies, isSeated: true})
		}
	}
	// A sum of floating-point numbers depends on their order, which must not be that of the seats.
	slices.SortStableFunc(g.members, func(a, b member) int {
		return cmp.Or(cmp.Compare(a.seat.Ticket, b.seat.Ticket), cmp.Compare(a.seat.Sub, b.seat.Sub))
	})
	return g
}

// attributesOf returns nil for a player whom the ticket does not have, which checkParties reports.
func attributesOf(t match.Ticket, sub string) match.Attributes {
	for _, p := range t.Players {
		if p.Sub == sub {
			return p.Attributes
		}
	}
	return nil
}

// newViolation is a condition that measures nothing.
func newViolation(rule, format string, args ...any) Violation {
	return Violation{Rule: rule, Text: fmt.Sprintf(format, args...)}
}

// measuredViolation is a condition with the value that was measured, and the limit.
func measuredViolation(rule string, value, limit float64, format string, args ...any) Violation {
	return Violation{Rule: rule, Text: fmt.Sprintf(format, args...), Value: value, Limit: limit}
}

// membersIn returns the players of a team; of "" those of the match. The slice is the caller's.
func (g *game) membersIn(team string) (found []member) {
	for _, m := range g.members {
		if team == "" || m.seat.Team == team {
			found = append(found, m)
		}
	}
	return found
}
