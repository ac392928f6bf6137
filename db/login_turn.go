package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// LoginLines returns the valves with their lines, by name. Errors: Unavailable.
func (s *Store) LoginLines(ctx context.Context) ([]*LoginLine, error) {
	r, err := s.renewLines(ctx, time.Now())
	if err != nil {
		return nil, err
	}
	return r.lines, nil
}

// Valve returns the name of the valve.
func (l *LoginLine) Valve() string { return l.row.Name }

// Mode returns whether the valve lets in all players, some or none: ValveOpen, ValveLimited or ValveClosed.
func (l *LoginLine) Mode() string { return l.row.Mode }

// youngFor is how long a valve is young, in seconds: well over linesUsable, for which a replica may let players in by
// an older copy of the valve.
const youngFor = 15

// IsYoung reports whether the valve began to limit so recently that replicas may have let players in meanwhile.
func (l *LoginLine) IsYoung() bool { return l.row.RecentFor < youngFor }

// Waiting returns how many players the line has.
func (l *LoginLine) Waiting() int { return int(l.row.Waiting) }

// Players returns how many players are admitted.
func (l *LoginLine) Players() int { return int(l.row.Players) }

// Pace returns how many players a second were admitted, in about the last minute.
func (l *LoginLine) Pace() float64 {
	counted, window := l.recentAdmissions()
	return counted / window
}

// HasMarks reports whether the marks of the line show players who wait.
func (l *LoginLine) HasMarks() bool { return l.row.MarkedWaiting > 0 }

// AdmitWaiting admits the first of a line, as far as its valve has room. Calls of different workers do not wait for
// each other. Errors: Unavailable.
func (s *Store) AdmitWaiting(ctx context.Context, valve string) error {
	return frame.Classify(s.q.TurnLoginQueue(ctx, valve))
}

// MarkLine stores the marks of a line, by which replicas know the positions of its players. It reads the whole line.
// Errors: Unavailable.
func (s *Store) MarkLine(ctx context.Context, valve string) error {
	return frame.Classify(s.q.MarkLoginQueue(ctx, valve))
}

// PruneLine deletes up to batch places and admissions of players who have been away for longer than five minutes, and
// returns how many. It keeps the admissions of those with a seat, a ticket or a connection to the lobby. Errors:
// Unavailable.
func (s *Store) PruneLine(ctx context.Context, valve string, batch int) (int, error) {
	n, err := s.q.PruneLoginQueue(ctx, query.PruneLoginQueueParams{Valve: valve, Most: int32(batch)})
	return int(n), frame.Classify(err)
}

// AdoptPlayers counts up to batch players as admitted who are in the game without an admission of the valve, and
// returns how many. Errors: Unavailable.
func (s *Store) AdoptPlayers(ctx context.Context, valve string, batch int) (int, error) {
	n, err := s.q.AdoptPlayers(ctx, query.AdoptPlayersParams{Valve: valve, Most: int32(batch)})
	return int(n), frame.Classify(err)
}
