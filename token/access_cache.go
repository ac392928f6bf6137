package token

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"
	"time"
)

// accessCache caches verified tokens by their SHA-256. The hash selects one slot, where a newer entry replaces an older
// one, so the size is fixed and no lock is needed. Only tokens with a valid signature enter, so that strangers cannot
// evict them.
type accessCache struct{ slots []atomic.Pointer[accessEntry] }

type accessEntry struct {
	tokenSum   [sha256.Size]byte
	verifiedBy *KeySet // the set that verified it; the entry is invalid for any other
	claims     AccessClaims
	timeClaims times
}

// claimsAt returns the claims if the token is valid at that time.
func (e *accessEntry) claimsAt(now time.Time, skew time.Duration) (AccessClaims, error) {
	if err := e.timeClaims.check(now, skew); err != nil {
		return AccessClaims{}, err
	}
	return e.claims, nil
}

func newAccessCache(size int) accessCache {
	return accessCache{slots: make([]atomic.Pointer[accessEntry], max(size, 0))}
}

func (c accessCache) slotOf(sum [sha256.Size]byte) *atomic.Pointer[accessEntry] {
	return &c.slots[binary.LittleEndian.Uint64(sum[:])%uint64(len(c.slots))]
}

func (c accessCache) getEntry(sum [sha256.Size]byte, keys *KeySet) *accessEntry {
	if len(c.slots) == 0 {
		return nil
	}
	if e := c.slotOf(sum).Load(); e != nil && e.tokenSum == sum && e.verifiedBy == keys {
		return e
	}
	return nil
}

func (c accessCache) putEntry(e *accessEntry) {
	if len(c.slots) > 0 {
		c.slotOf(e.tokenSum).Store(e)
	}
}
