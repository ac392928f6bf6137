package verifytest

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

// Now is the time to decide at.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Tickets generates 1 to most tickets with parties of 1 to 3. Most are candidates of [Profiles], and some share a
// player.
func Tickets(most int) *rapid.Generator[[]match.Ticket] {
	return rapid.Custom(func(t *rapid.T) (tickets []match.Ticket) {
		players := 0
		for i := range rapid.IntRange(1, most).Draw(t, "tickets") {
			ticket := drawTicket(t, fmt.Sprintf("t%02d", i))
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "party") {
				players++
				ticket.Players = append(ticket.Players,
					match.Player{Sub: subOf(players), Attributes: drawAttributes(t)})
			}
			tickets = append(tickets, ticket)
		}
		if len(tickets) > 1 && rapid.IntRange(0, 9).Draw(t, "a player twice") == 0 {
			tickets[1].Players[0].Sub = tickets[0].Players[0].Sub
			// Ticket.Players is sorted by sub.
			slices.SortFunc(tickets[1].Players, func(a, b match.Player) int { return cmp.Compare(a.Sub, b.Sub) })
		}
		return tickets
	})
}

func subOf(player int) string { return fmt.Sprintf("p%02d", player) }

// drawTicket draws a ticket without its players.
func drawTicket(t *rapid.T, id string) match.Ticket {
	// As old as a step demands, or a nanosecond younger.
	waited := ticketAges.Draw(t, "waited") - time.Duration(rapid.IntRange(0, 1).Draw(t, "less"))
	ticket := match.Ticket{ID: id, Created: Now.Add(-max(waited, 0)), Latencies: drawLatencies(t)}
	ticket.Profiles = rapid.SampledFrom([][]string{
		{"another", Name}, {"another", Name}, {"another", Name}, nil, {"another"},
	}).Draw(t, "profiles")
	if rapid.IntRange(0, 5).Draw(t, "untagged") > 0 {
		ticket.Fields.Tags = []string{"ranked"}
	}
	ticket.Fields.Created = match.MomentOf(ticket.Created)
	return ticket
}

// drawLatencies draws latencies at the limits of rules, 30 and 60 ms, and just above. Some regions have none.
func drawLatencies(t *rapid.T) map[string]uint16 {
	latencies := map[string]uint16{}
	for _, region := range regions {
		if ms := rapid.SampledFrom([]uint16{0, 20, 30, 50, 60, 61, 120}).Draw(t, region); ms > 0 {
			latencies[region] = ms
		}
	}
	return latencies
}

// drawAttributes draws the attributes of a player, which lacks some.
func drawAttributes(t *rapid.T) match.Attributes {
	drawn := match.Attributes{}
	for _, name := range numberAttributes {
		if n := rapid.IntRange(-1, 5).Draw(t, name); n >= 0 {
			drawn[name] = match.Value{Kind: match.Number, Number: float64(n)}
		}
	}
	for _, name := range textAttributes {
		if text := rapid.SampledFrom(append([]string{""}, attributeTexts...)).Draw(t, name); text != "" {
			drawn[name] = match.Value{Kind: match.Text, Text: text}
		}
	}
	for _, name := range listAttributes {
		if rapid.IntRange(0, 5).Draw(t, name+" there") > 0 {
			drawn[name] = match.Value{Kind: match.List, List: drawList(t, name, attributeTexts)}
		}
	}
	drawWishes(t, drawn)
	return drawn
}

// drawWishes adds the roles that a player would take, the modes that it allows and whom it avoids.
func drawWishes(t *rapid.T, drawn match.Attributes) {
	wishedRoles := drawList(t, "role", roles)
	// One role may be a text, too.
	if len(wishedRoles) == 1 {
		drawn["role"] = match.Value{Kind: match.Text, Text: wishedRoles[0]}
	} else if len(wishedRoles) > 1 {
		drawn["role"] = match.Value{Kind: match.List, List: wishedRoles}
	}
	if rapid.IntRange(0, 5).Draw(t, "has modes") == 0 {
		drawn["modes"] = match.Value{Kind: match.List, List: drawList(t, "modes", []string{"arena", "duel"})}
	}
	if rapid.IntRange(0, 3).Draw(t, "blocks") == 0 {
		sub := subOf(rapid.IntRange(1, 8).Draw(t, "blocked"))
		drawn[blockedAttribute] = match.Value{Kind: match.List, List: []string{sub}}
	}
}

// drawList draws some of the texts, in any order.
func drawList(t *rapid.T, label string, from []string) []string {
	shuffled := rapid.Permutation(from).Draw(t, label)
	return shuffled[:rapid.IntRange(0, len(from)).Draw(t, label+" number")]
}
