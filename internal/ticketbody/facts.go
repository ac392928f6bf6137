package ticketbody

import (
	"encoding/json"

	"github.com/lattice-director/director/match"
)

// Facts returns what history keeps of a ticket, as JSON: the attributes of each player, as {"ada": {"skill": 1500, "maps":
// ["dust"]}}, and the latencies by region. Both are nil where the ticket has none.
func Facts(t *match.Ticket) (attributes, latencies []byte) {
	players := make(map[string]map[string]any, len(t.Players))
	for _, p := range t.Players {
		values := make(map[string]any, len(p.Attributes))
		for name, v := range p.Attributes {
			values[name] = v.Plain()
		}
		players[p.Sub] = values
	}
	if len(players) > 0 {
		attributes, _ = json.Marshal(players) // finite numbers and texts always encode
	}
	if len(t.Latencies) > 0 {
		latencies, _ = json.Marshal(t.Latencies)
	}
	return attributes, latencies
}
