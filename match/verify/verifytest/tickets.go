package verifytest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/lattice-director/director/match"
)

// Now is the time to decide at.
var Now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// Tickets generates up to most tickets with parties of 1 to 3. Most are candidates of [Profiles], and some share a
// player.
func Tickets(most int) *rapid.Generator[[]match.Ticket] {
	return rapid.Custom(func(t *rapid.T) (tickets []match.Ticket) {
		players := 0
		for i := range rapid.IntRange(1, most).Draw(t, "tickets") {
			ticket := drawTicket(t, i)
			for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(t, "party") {
				players++
				ticket.Players = append(ticket.Players,
					match.Player{Sub: subOf(players), Attributes: drawAttributes(t)})
			}
			tickets = append(tickets, ticket)
		}
		if len(tickets) > 1 && rapid.IntRange(0, 9).Draw(t, "a player twice") == 0 {
			tickets[1].Players[0].Sub = tickets[0].Players[0].Sub
			// As Ticket.Players promises, with the new sub.
			sortPlayers(tickets[1].Players)
		}
		return tickets
	})
}

func subOf(n int) string { return fmt.Sprintf("p%02d", n) }

func sortPlayers(players []match.Player) {
	slices.SortFunc(players, func(a, b match.Player) int {
		if a.Sub < b.Sub {
			return -1
		}
		return 1
	})
}

// drawTicket draws a ticket without its players.
func drawTicket(t *rapid.T, i int) match.Ticket {
	waited := ever.Draw(t, "waited") - time.Duration(rapid.IntRange(0, 1).Draw(t, "less"))
	ticket := match.Ticket{ID: fmt.Sprintf("t%02d", i), Created: Now.Add(-max(waited, 0)), Latencies: drawLatencies(t)}
	switch rapid.SampledFrom([]string{"named", "named", "named", "pool", "other"}).Draw(t, "asks for") {
	case "named":
		ticket.Profiles = []string{"another", Name}
	case "other":
		ticket.Profiles = []string{"another"}
	}
	if rapid.IntRange(0, 5).Draw(t, "untagged") > 0 {
		ticket.Fields.Tags = []string{"ranked"}
	}
	ticket.Fields.Created = match.MomentOf(ticket.Created)
	return ticket
}

// drawLatencies draws latencies at the limits of rules, 30 and 60 ms, and just above.
func drawLatencies(t *rapid.T) map[string]uint16 {
	latencies := map[string]uint16{}
	for _, region := range regions {
		if ms := rapid.SampledFrom([]uint16{0, 20, 30, 50, 60, 61, 120}).Draw(t, region); ms > 0 {
			latencies[region] = ms
		}
	}
	return latencies
}

// drawAttributes leaves out some.
func drawAttributes(t *rapid.T) match.Attributes {
	drawn := match.Attributes{}
	for _, name := range numbers {
		if n := rapid.IntRange(-1, 5).Draw(t, name); n >= 0 {
			drawn[name] = match.Value{Kind: match.Number, Number: float64(n)}
		}
	}
	for _, name := range words {
		if text := rapid.SampledFrom(append([]string{""}, values...)).Draw(t, name); text != "" {
			drawn[name] = match.Value{Kind: match.Text, Text: text}
		}
	}
	for _, name := range lists {
		if rapid.IntRange(0, 5).Draw(t, name+" there") > 0 {
			drawn[name] = match.Value{Kind: match.List, List: drawList(t, name, values)}
		}
	}
	drawWishes(t, drawn)
	return drawn
}

// drawWishes draws the roles that a player would take, the modes that it allows and whom it avoids.
func drawWishes(t *rapid.T, drawn match.Attributes) {
	switch wished := drawList(t, "role", roles); len(wished) {
	case 0:
	case 1:
		drawn["role"] = match.Value{Kind: match.Text, Text: wished[0]}
	default:
		drawn["role"] = match.Value{Kind: match.List, List: wished}
	}
	if rapid.IntRange(0, 5).Draw(t, "has modes") == 0 {
		drawn["modes"] = match.Value{Kind: match.List, List: drawList(t, "modes", []string{"arena", "duel"})}
	}
	if rapid.IntRange(0, 3).Draw(t, "blocks") == 0 {
		drawn[blocked] = match.Value{Kind: match.List, List: []string{subOf(rapid.IntRange(1, 8).Draw(t, "blocked"))}}
	}
}

// drawList draws some of the texts, in any order.
func drawList(t *rapid.T, label string, from []string) []string {
	shuffled := rapid.Permutation(from).Draw(t, label)
	return shuffled[:rapid.IntRange(0, len(from)).Draw(t, label+" number")]
}
