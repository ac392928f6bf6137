package db

import (
	"bytes"
	"encoding/json"
)

// rosterPlayer is an entry of matches.roster.
type rosterPlayer struct {
	Sub        string          `json:"sub"`
	Team       string          `json:"team,omitempty"`
	Role       string          `json:"role,omitempty"`
	Ticket     string          `json:"ticket"`
	Attributes json.RawMessage `json:"attributes,omitempty"`
	// Sources say who vouches for attributes, claim or backend, by name; the others are the client's word.
	Sources map[string]string `json:"sources,omitempty"`
}

// encodeRoster returns matches.roster of a match with these tickets.
func encodeRoster(tickets []MatchTicket) ([]byte, error) {
	var roster []rosterPlayer
	for _, t := range tickets {
		for _, p := range t.Players {
			roster = append(roster, rosterPlayer{p.Sub, p.Team, p.Role, t.ID, p.Told, p.Sources})
		}
	}
	return json.Marshal(roster)
}

// jsonbBytes returns at least the length of the text that Postgres writes for this JSON: it puts a space behind each
// comma and colon. Commas and colons within strings are counted as well.
func jsonbBytes(b []byte) int {
	return len(b) + bytes.Count(b, []byte(",")) + bytes.Count(b, []byte(":"))
}

// objectText returns a JSON object as text, "{}" for none.
func objectText(b json.RawMessage) string {
	if len(b) == 0 {
		return "{}"
	}
	return string(b)
}
