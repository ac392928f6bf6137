package db

import (
	"context"

	"github.com/google/uuid"
)

// RealtimeNews returns news of sessions that a replica owns; sessions without news are left out. Call it for all sessions every ten seconds, and for
// single ones after a notification. Errors: Unavailable.
func (s *Store) RealtimeNews(_ context.Context, _ string, _ uuid.UUID, _ []SessionEpoch) ([]RealtimeNews, error) {
	return nil, errNotBuilt
}
