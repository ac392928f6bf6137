package db

import (
	"context"
	"encoding/json"
	"time"

	"github.com/google/uuid"
)

// OpenMatch is a playing match that newcomers may join.
type OpenMatch struct {
	Profile string
	ID      uuid.UUID
	Session string // its id
	Region  string
	Mode    string
	Opened  time.Time
	Players []MatchPlayer // who have seats
	Tickets []string      // of the players, in the same order
}

// openMatchesPage bounds how many matches one reading returns: the oldest of each profile come first.
const openMatchesPage = 1000

// OpenMatches returns the playing matches of profiles that have free seats, by profile and age: at most 1,000. Errors:
// Unavailable.
func (s *Store) OpenMatches(ctx context.Context, universe string, profiles []string) ([]OpenMatch, error) {
	rows, err := s.q.OpenMatches(ctx, OpenMatchesParams{Universe: universe, Profiles: profiles, Most: openMatchesPage})
	if err != nil {
		return nil, classify(err)
	}
	open := make([]OpenMatch, 0, len(rows))
	for _, r := range rows {
		m := OpenMatch{Profile: r.Profile, ID: r.ID, Session: sessionID(r.Region, r.SessionID), Region: r.Region, Mode: r.Mode, Opened: r.OpenedAt}
		var roster []rosterPlayer
		if err := json.Unmarshal(r.Roster, &roster); err != nil {
			return nil, classify(err)
		}
		seated := setOf(r.Seated)
		for _, p := range roster {
			if seated[p.Sub] {
				m.Players = append(m.Players, MatchPlayer{Sub: p.Sub, Team: p.Team, Role: p.Role, Told: p.Attributes})
				m.Tickets = append(m.Tickets, p.Ticket)
			}
		}
		open = append(open, m)
	}
	return open, nil
}
