package db

import (
	"context"

	"github.com/lattice-director/director/internal/rooms"
)

// SuspendRealtime records that sessions have lost their connections, and pauses their tickets. A session with another epoch stays as it is. With
// announce, away acts in all their rooms at once; without it a worker lets it act after five seconds, unless the session is resumed by then.
// Errors: Unavailable.
func (s *Store) SuspendRealtime(_ context.Context, _ string, _ []SessionEpoch, _ func(session string) rooms.Action, _ bool) error {
	return errNotBuilt
}
