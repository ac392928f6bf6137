package webhooks

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

const (
	// keysLast is how long a reading of the keys is used.
	keysLast = 5 * time.Second
	// keysStale is the age from which a ring refuses to sign. currentRing replaces it long before: while the database
	// cannot be reached, nothing is sent, since no outcome could be recorded.
	keysStale = time.Minute
)

// keys has the signing keys. Safe for concurrent use.
type keys struct {
	store  *db.Store
	sealer *token.Sealer

	mu       sync.Mutex
	lastRing *token.Ring
	readAt   time.Time
}

// currentRing returns the current keys. Errors: token.ErrSealed, Unavailable.
func (k *keys) currentRing(ctx context.Context) (*token.Ring, error) {
	// Kept during the call of the database, so that letters sent side by side share one reading.
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.lastRing != nil && time.Since(k.readAt) < keysLast {
		return k.lastRing, nil
	}
	rows, now, err := k.store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	ring, err := keymint.Open(rows, k.sealer, now, keysStale)
	if err != nil {
		return nil, err
	}
	k.lastRing, k.readAt = ring, time.Now()
	return ring, nil
}
