package db

import (
	"context"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// EndLogin ends a login to the console, given as the SHA-256 of its secret, on all replicas. until is when its cookie
// expires: then the row is forgotten. Ending a login twice is the same as once. Errors: Unavailable.
func (s *Store) EndLogin(ctx context.Context, login []byte, until time.Time) error {
	return frame.Classify(s.q.EndLogin(ctx, query.EndLoginParams{Login: login, Until: until}))
}

// LoginHasEnded reports whether EndLogin was called for a login. Errors: Unavailable.
func (s *Store) LoginHasEnded(ctx context.Context, login []byte) (bool, error) {
	ended, err := s.q.LoginHasEnded(ctx, login)
	return ended, frame.Classify(err)
}
