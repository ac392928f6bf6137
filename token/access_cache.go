package token

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// accessCache remembers verified tokens by their SHA-256, each in the one slot its hash points to: the size is fixed, the
// last to come wins a slot, and nobody waits for a lock. Only genuine tokens get in, so strangers cannot push others out.
type accessCache struct{ slots []atomic.Pointer[accessEntry] }

type accessEntry struct {
	sum    [sha256.Size]byte
	keys   *KeySet // the set that verified it; another set has not
	claims AccessClaims
	times  times
}

// now answers the claims if the token still counts.
func (e *accessEntry) now(now time.Time, skew time.Duration) (AccessClaims, error) {
	if err := e.times.check(now, skew); err != nil {
		return AccessClaims{}, err
	}
	return e.claims, nil
}

func newAccessCache(size int) accessCache {
	return accessCache{slots: make([]atomic.Pointer[accessEntry], max(size, 0))}
}

func (c accessCache) slot(sum [sha256.Size]byte) *atomic.Pointer[accessEntry] {
	return &c.slots[binary.LittleEndian.Uint64(sum[:])%uint64(len(c.slots))]
}

func (c accessCache) get(sum [sha256.Size]byte, keys *KeySet) *accessEntry {
	if len(c.slots) == 0 {
		return nil
	}
	if e := c.slot(sum).Load(); e != nil && e.sum == sum && e.keys == keys {
		return e
	}
	return nil
}

func (c accessCache) put(e *accessEntry) {
	if len(c.slots) > 0 {
		c.slot(e.sum).Store(e)
	}
}
