package roster

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
)

// emptyHash is the state hash of a fleet without instances: the first bytes of the SHA-256 of [], its list.
const emptyHash = 0x4f53cda18c2baa0c

// Stats are the totals of a fleet.
type Stats struct {
	Instances   int
	Rooms       int
	Connections int64
	RoomTypes   []string // of all instances, sorted
	Hash        uint64   // of all listed fields except lastSyncAt; equal on all replicas
}

// StateHash returns the hash as 16 hex digits.
func (s Stats) StateHash() string { return fmt.Sprintf("%016x", s.Hash) }

// AppendJSON appends FleetStats.
func (s Stats) AppendJSON(b []byte) []byte {
	b = strconv.AppendInt(append(b, `{"instances":`...), int64(s.Instances), 10)
	b = strconv.AppendInt(append(b, `,"rooms":`...), int64(s.Rooms), 10)
	b = strconv.AppendInt(append(b, `,"connections":`...), s.Connections, 10)
	b = appendList(append(b, `,"roomTypes":[`...), s.RoomTypes, appendString)
	b = appendString(append(b, `],"stateHash":`...), s.StateHash())
	return append(b, '}')
}

// totals updates Stats as instances are added and removed.
type totals struct {
	stats Stats

	countByType map[string]int // number of instances that offer each room type
}

func newTotals() totals { return totals{stats: Stats{Hash: emptyHash}, countByType: map[string]int{}} }

// countInstance adds an instance if sign is 1 and removes it if sign is -1.
func (t *totals) countInstance(i *Instance, sign int) {
	t.stats.Instances += sign
	t.stats.Rooms += sign * len(i.Rooms)
	t.stats.Connections += int64(sign) * i.connectionCount
	// XOR depends on no order, and removing an instance undoes adding it.
	t.stats.Hash ^= i.contentHash
	changed := false
	for _, name := range i.RoomTypes {
		before := t.countByType[name]
		t.countByType[name] = before + sign
		if before+sign == 0 {
			delete(t.countByType, name)
		}
		changed = changed || before == 0 || before+sign == 0
	}
	if changed {
		// currentStats sorts the types once for all changes of a page.
		t.stats.RoomTypes = nil
	}
}

// currentStats returns the current totals.
func (t *totals) currentStats() Stats {
	if t.stats.RoomTypes == nil {
		t.stats.RoomTypes = slices.Sorted(maps.Keys(t.countByType)) // nil only if there are no room types
	}
	return t.stats
}
