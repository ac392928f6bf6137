package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// ConsoleMatch is a match that plays, or whose players are asked or wait for a server, as ops.matches shows it.
type ConsoleMatch struct {
	Region    string // of a match that plays, that of its session; of others, the universe
	Match     uuid.UUID
	Profile   string
	Version   int32
	State     string // proposed, accepted or playing
	Session   string // region.uuid; "": it has none yet
	Mode      string
	Tickets   int32
	Players   int32
	Connected int64
	DecidedAt time.Time
	Deadline  *time.Time // nil while it plays
}

// PastMatch is a committed match as ops.past_matches shows it.
type PastMatch struct {
	Match       uuid.UUID
	Profile     string
	Version     int32
	Joined      bool // newcomers joined a match that was already playing
	GameRegion  string
	Mode        string
	Session     string // region.uuid; "": it has none
	Tickets     int32
	Players     int32
	DecidedAt   time.Time
	CommittedAt time.Time
}

// MatchFilter selects matches of a universe. Before and ID are the time of commitment and the id of the last row of the page before; zero for the first page.
type MatchFilter struct {
	Universe string
	Profile  string // "": all
	Before   time.Time
	ID       uuid.UUID
	Page     ConsolePage
}

// ConsoleMatches returns the latest matches that play or are proposed, and whether there are more. Errors: TooMany, Unavailable.
func (s *Store) ConsoleMatches(ctx context.Context, f MatchFilter) (matches []ConsoleMatch, more bool, err error) {
	most := f.Page.rows()
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleMatches(ctx, query.ConsoleMatchesParams{Universe: f.Universe, Profile: f.Profile, Most: most + 1})
		for _, r := range rows {
			matches = append(matches, ConsoleMatch(r))
		}
		return err
	})
	matches, more = page(matches, most)
	return matches, more, err
}

// ConsolePastMatches returns a page of committed matches, latest first, and whether more follow. Errors: TooMany, Unavailable.
func (s *Store) ConsolePastMatches(ctx context.Context, f MatchFilter) (matches []PastMatch, more bool, err error) {
	most := f.Page.rows()
	if f.Before.IsZero() {
		f.Before = endOfTime
	}
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsolePastMatches(ctx, query.ConsolePastMatchesParams{Universe: f.Universe, Profile: f.Profile, Before: f.Before, ID: f.ID, Most: most + 1})
		for _, r := range rows {
			matches = append(matches, PastMatch(r))
		}
		return err
	})
	matches, more = page(matches, most)
	return matches, more, err
}

// MatchMinute is a measure of the matches of a minute, as ops.match_minutes shows it.
type MatchMinute struct {
	Minute  time.Time // its beginning
	Profile string
	Version int32
	Measure string // players, latency_ms, or the word rule and the id of a rule
	Matches int64  // of those that were read
	Mean    float64
	Highest float64
}

// ConsoleMatchMinutes returns the measures of the last hour, of one profile or, for "", of all, in the order of measure, profile, version
// and time; at most 10,000 rows. They are those of some matches of each minute, so that its cost is bounded. Errors: TooMany, Unavailable.
func (s *Store) ConsoleMatchMinutes(ctx context.Context, universe, profile string) (minutes []MatchMinute, err error) {
	err = s.readConsole(ctx, func(ctx context.Context, q *query.Queries) error {
		rows, err := q.ConsoleMatchMinutes(ctx, query.ConsoleMatchMinutesParams{Universe: universe, Profile: profile})
		for _, r := range rows {
			minutes = append(minutes, MatchMinute(r))
		}
		return err
	})
	return minutes, err
}
