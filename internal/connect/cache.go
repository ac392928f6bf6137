package connect

import (
	"encoding/binary"
	"sync/atomic"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/token/netcode"
)

// cacheSize bounds the unsealed keys in memory. A deployment beyond it costs an AES decryption a token.
const cacheSize = 4096

// cache holds the minters of deployments. The deployment's id, which is random, selects one slot, where a newer entry
// replaces an older one, so the size is fixed and no lock is needed.
type cache [cacheSize]atomic.Pointer[entry]

// entry is the minter of what region, deployment, dialect and sealed key say: a sealed key opens in its own row only.
type entry struct {
	region     string
	deployment uuid.UUID
	dialect    netcode.Dialect
	sealedKey  string
	minter     *netcode.Minter
}

func (c *cache) slotOf(seat *db.NetcodeSeat) *atomic.Pointer[entry] {
	return &c[binary.LittleEndian.Uint64(seat.DeploymentID[:8])%cacheSize]
}

func (c *cache) getMinter(region string, seat *db.NetcodeSeat) *netcode.Minter {
	e := c.slotOf(seat).Load()
	if e == nil || e.deployment != seat.DeploymentID || e.region != region || e.dialect != seat.Dialect ||
		e.sealedKey != string(seat.SealedKey) {
		return nil
	}
	return e.minter
}

func (c *cache) putMinter(region string, seat *db.NetcodeSeat, minter *netcode.Minter) {
	c.slotOf(seat).Store(&entry{region, seat.DeploymentID, seat.Dialect, string(seat.SealedKey), minter})
}
