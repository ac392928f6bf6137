package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// maxExported bounds the rows of a section of an export.
const maxExported = 10_000

// exportSections are those of an export, in the order of queries/player_export.sql.
var exportSections = []string{"seats", "past_seats", "tickets", "past_tickets", "ticket_states", "events", "refusals",
	"stored", "latencies", "lobby_sessions", "lobby_rooms", "lobby_invitations", "lobby_sayings", "lobby_messages",
	"lobby_blocks"}

// PlayerExport is what is known of a player, for the player. It has no secrets, and of other players only whom the
// player has named.
type PlayerExport struct {
	Player     string                       `json:"player"`
	ExportedAt time.Time                    `json:"exported_at"`
	Data       map[string][]json.RawMessage `json:"data"`      // rows, latest first, by section; all sections are there
	Truncated  []string                     `json:"truncated"` // sections that have more than the 10,000 latest rows
}

// IsEmpty reports whether nothing is known of the player.
func (e PlayerExport) IsEmpty() bool {
	for _, rows := range e.Data {
		if len(rows) > 0 {
			return false
		}
	}
	return true
}

// ExportPlayer returns what is known of a player, in one snapshot. A player that nobody knows has empty sections.
// Errors: Unavailable.
func (s *Store) ExportPlayer(ctx context.Context, player string) (PlayerExport, error) {
	e := PlayerExport{Player: player, ExportedAt: s.Now().UTC(), Data: map[string][]json.RawMessage{},
		Truncated: []string{}}
	for _, section := range exportSections {
		e.Data[section] = []json.RawMessage{}
	}
	regions, err := s.q.ErasureRegions(ctx)
	if err != nil {
		return e, frame.Classify(err)
	}
	// One row of a section more than is returned, which shows that there are more.
	rows, err := s.q.ExportPlayer(ctx, query.ExportPlayerParams{Player: player, Regions: regions, Most: maxExported + 1})
	for _, r := range rows {
		switch n := len(e.Data[r.Section]); {
		case n < maxExported:
			e.Data[r.Section] = append(e.Data[r.Section], r.Entry)
		case n == maxExported:
			e.Truncated = append(e.Truncated, r.Section)
		}
	}
	return e, frame.Classify(err)
}
