package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// JoinableMatch is a playing match that newcomers may join.
type JoinableMatch struct {
	ProfileName   string
	ID            uuid.UUID
	SessionID     string
	Region        string
	Mode          string
	OpenedAt      time.Time
	SeatedPlayers []MatchPlayer // who have seats
	TicketIDs     []string      // those of SeatedPlayers, in the same order
}

// Limits of one read of open matches.
const (
	joinableMatchesPage = 1000 // matches of all profiles together, in equal shares
	joinableMatchesMin  = 10   // the smallest share of a profile
)

// JoinableMatches returns playing matches of profiles with free seats, ordered by profile and age. It returns the oldest
// matches of each profile: 1,000 for a single profile; for several profiles equal shares of 1,000, but at least 10
// each. Errors: Unavailable.
func (s *Store) JoinableMatches(ctx context.Context, universe string, profiles []string) ([]JoinableMatch, error) {
	rows, err := s.q.OpenMatches(ctx, query.OpenMatchesParams{Universe: universe, Profiles: profiles,
		Most: int32(max(joinableMatchesPage/max(len(profiles), 1), joinableMatchesMin))})
	if err != nil {
		return nil, frame.Classify(err)
	}
	open := make([]JoinableMatch, 0, len(rows))
	for _, r := range rows {
		m := JoinableMatch{ProfileName: r.Profile, ID: r.ID, SessionID: sessionID(r.Region, r.SessionID), Region: r.Region,
			Mode: r.Mode, OpenedAt: r.OpenedAt}
		var roster []rosterPlayer
		if err := json.Unmarshal(r.Roster, &roster); err != nil {
			return nil, frame.Classify(err)
		}
		seated := setOf(r.Seated)
		// Players of the roster who have left the session are no longer in the match.
		for _, p := range roster {
			if seated[p.Sub] {
				m.SeatedPlayers = append(m.SeatedPlayers,
					MatchPlayer{Sub: p.Sub, Team: p.Team, Role: p.Role, Told: p.Attributes,
						Sources: p.Sources})
				m.TicketIDs = append(m.TicketIDs, p.Ticket)
			}
		}
		open = append(open, m)
	}
	return open, nil
}
