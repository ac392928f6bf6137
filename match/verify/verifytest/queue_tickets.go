package verifytest

import (
	"fmt"
	"math"
	"time"

	"github.com/lattice-director/director/match"
)

// drawTicket draws the i-th ticket of a queue, of a party of at most so many players.
func (d queueDrawer) drawTicket(i, mostPlayers int) match.Ticket {
	t := match.Ticket{
		ID: fmt.Sprintf("t%03d", i), Profiles: []string{Name}, Latencies: map[string]uint16{},
		Created: Now.Add(-time.Duration(d.random.Int64N(int64(time.Minute)))),
	}
	for _, region := range regions {
		if !d.drawOneIn(4) {
			t.Latencies[region] = uint16(15 + d.random.IntN(120))
		}
	}
	size := min(mostPlayers, drawOneOf(d, 1, 1, 1, 1, 2, 2, 3, 4))
	skill := 1500 + 300*d.random.NormFloat64()
	for n := range size {
		// Friends differ less from each other than strangers do.
		attributes := d.drawAttributes(skill + 60*d.random.NormFloat64())
		t.Players = append(t.Players, match.Player{Sub: queueSub(i, n), Attributes: attributes})
	}
	return t
}

// queueSub returns the sub of the n-th player of a queue's i-th ticket.
func queueSub(i, n int) string { return fmt.Sprintf("p%03d-%d", i, n) }

// drawAttributes draws the attributes of a player with a skill. Some players lack the skill, a role or modes.
func (d queueDrawer) drawAttributes(skill float64) match.Attributes {
	drawn := match.Attributes{
		"platform": textValue(drawOneOf(d, "pc", "pc", "console")),
		"clan":     textValue(drawOneOf(d, "red", "blue")),
		"class":    textValue(drawOneOf(d, "a", "b", "c", "d")),
		"country":  textValue(fmt.Sprintf("c%02d", d.random.IntN(30))),
		"maps":     d.drawListValue("a", "b", "c", "d"),
	}
	if !d.drawOneIn(20) {
		drawn["skill"] = match.Value{Kind: match.Number, Number: math.Round(skill)}
	}
	switch percent := d.random.IntN(100); {
	case percent < 12:
		drawn["role"] = textValue("tank")
	case percent < 25:
		drawn["role"] = textValue("healer")
	case percent < 30:
		drawn["role"] = d.drawListValue("tank", "healer")
	}
	if d.drawOneIn(10) {
		drawn["modes"] = d.drawListValue("arena", "duel")
	}
	if d.drawOneIn(4) {
		drawn[blockedAttribute] = d.drawListValue(queueSub(d.random.IntN(100), 0), queueSub(d.random.IntN(100), 0))
	}
	return drawn
}

func textValue(text string) match.Value { return match.Value{Kind: match.Text, Text: text} }

// drawListValue draws a list of at least one of the texts, in any order.
func (d queueDrawer) drawListValue(from ...string) match.Value {
	d.random.Shuffle(len(from), func(i, j int) { from[i], from[j] = from[j], from[i] })
	return match.Value{Kind: match.List, List: from[:1+d.random.IntN(len(from))]}
}
