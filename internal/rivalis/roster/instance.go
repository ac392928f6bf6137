package roster

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// Instance is a connected Rivalis process as it appears in lists. It is immutable.
type Instance struct {
	ID        string // of the connection: 16 hex digits
	Status    string // the effective status
	Labels    map[string]string
	RoomTypes []string
	Rooms     []Room // ordered by id

	joined      time.Time
	replica     uuid.UUID
	connections int64
	load        float64 // connections, as a share of their maximum if one is declared
	capacity    db.AgentCapacity
	autoCreate  bool
	synced      int64  // when its last reply was recorded, in Unix milliseconds
	missed      bool   // it has missed a poll since synced, so the replica's heard time does not apply to it
	head, tail  []byte // its JSON before and after lastSyncAt
	hash        uint64 // of head and tail
}

// Room is a room of an instance.
type Room struct {
	ID   string
	Type string

	from, end int // of its JSON in the instance's head
}

func newInstance(a *db.RosterAgent) *Instance {
	i := &Instance{
		ID: a.Info.ID, Status: a.Info.Status, Labels: a.Info.Labels, RoomTypes: a.Info.RoomTypes,
		Rooms:  make([]Room, 0, len(a.Info.Rooms)),
		joined: a.Joined, replica: a.Replica, connections: a.Info.Connections, capacity: a.Info.Capacity,
		autoCreate: a.Info.AutoCreate,
		synced:     a.Info.LastSyncAt, missed: a.Missed, load: float64(a.Info.Connections),
	}
	if most := a.Info.Capacity.MaxConnections; most != nil {
		i.load /= float64(max(*most, 1))
	}
	b := appendInstanceHead(make([]byte, 0, 512+192*len(a.Info.Rooms)), &a.Info, func(from, to int) {
		r := &a.Info.Rooms[len(i.Rooms)]
		i.Rooms = append(i.Rooms, Room{ID: r.ID, Type: r.Type, from: from, end: to})
	})
	head := len(b)
	b = appendInstanceTail(b, &a.Info)
	sum := sha256.Sum256(b)
	i.head, i.tail, i.hash = b[:head:head], b[head:], binary.BigEndian.Uint64(sum[:8])
	return i
}

// compare orders instances by the time of joining.
func (i *Instance) compare(other *Instance) int {
	return cmp.Or(i.joined.Compare(other.joined), cmp.Compare(i.ID, other.ID))
}

// appendJSON appends the instance as JSON. heard is the time at or after which the replica has heard from all instances
// without a miss.
func (i *Instance) appendJSON(b []byte, heard int64) []byte {
	at := i.synced
	if !i.missed {
		at = max(at, heard)
	}
	return append(appendLastSync(append(b, i.head...), at), i.tail...)
}

func (i *Instance) room(n int) []byte { return i.head[i.Rooms[n].from:i.Rooms[n].end] }

// roomList returns the JSON of all its rooms, separated by commas.
func (i *Instance) roomList() []byte {
	if len(i.Rooms) == 0 {
		return nil
	}
	return i.head[i.Rooms[0].from:i.Rooms[len(i.Rooms)-1].end]
}
