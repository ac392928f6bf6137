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

	joinedAt           time.Time
	replicaID          uuid.UUID
	connectionCount    int64
	connectionLoad     float64 // connections, as a share of their maximum if one is declared
	declaredCapacity   db.AgentCapacity
	autoCreate         bool
	syncedMillis       int64  // when its last reply was recorded, in Unix milliseconds
	hasMissed          bool   // it has missed a poll since its last reply, so that its replica's heardAt does not apply
	jsonHead, jsonTail []byte // its JSON before and after lastSyncAt
	contentHash        uint64 // of head and tail
}

// Room is a room of an instance.
type Room struct {
	ID   string
	Type string

	jsonFrom, jsonEnd int // of its JSON in the instance's head
}

func newInstance(a *db.RosterAgent) *Instance {
	i := &Instance{
		ID: a.InstanceInfo.ID, Status: a.InstanceInfo.Status, Labels: a.InstanceInfo.Labels,
		RoomTypes: a.InstanceInfo.RoomTypes,
		Rooms:     make([]Room, 0, len(a.InstanceInfo.Rooms)),
		joinedAt:  a.JoinedAt, replicaID: a.ReplicaID, connectionCount: a.InstanceInfo.Connections,
		declaredCapacity: a.InstanceInfo.Capacity,
		autoCreate:       a.InstanceInfo.AutoCreate,
		syncedMillis:     a.InstanceInfo.LastSyncAt, hasMissed: a.HasMissed,
		connectionLoad: float64(a.InstanceInfo.Connections),
	}
	if most := a.InstanceInfo.Capacity.MaxConnections; most != nil {
		// A process with a maximum of 0 accepts nobody. It must not have a load that compares with nothing.
		i.connectionLoad /= float64(max(*most, 1))
	}
	const headBytes, roomBytes = 512, 192 // of the JSON of an instance without rooms, and of a room, about
	b := make([]byte, 0, headBytes+roomBytes*len(a.InstanceInfo.Rooms))
	b = appendInstanceHead(b, &a.InstanceInfo, func(from, to int) {
		r := &a.InstanceInfo.Rooms[len(i.Rooms)]
		i.Rooms = append(i.Rooms, Room{ID: r.ID, Type: r.Type, jsonFrom: from, jsonEnd: to})
	})
	head := len(b)
	b = appendInstanceTail(b, &a.InstanceInfo)
	// b lacks lastSyncAt, which differs between replicas that list the same.
	sum := sha256.Sum256(b)
	// The capacity of the head is cut, so that an append to it cannot overwrite the tail.
	i.jsonHead, i.jsonTail, i.contentHash = b[:head:head], b[head:], binary.BigEndian.Uint64(sum[:8])
	return i
}

// compareJoining orders instances by the time of joining.
func (i *Instance) compareJoining(other *Instance) int {
	return cmp.Or(i.joinedAt.Compare(other.joinedAt), cmp.Compare(i.ID, other.ID))
}

// appendJSON appends the instance as JSON. heard is the time at or after which the replica has heard from all instances
// without a miss.
func (i *Instance) appendJSON(b []byte, heard int64) []byte {
	at := i.syncedMillis
	if !i.hasMissed {
		at = max(at, heard)
	}
	return append(appendLastSync(append(b, i.jsonHead...), at), i.jsonTail...)
}

func (i *Instance) roomJSON(n int) []byte { return i.jsonHead[i.Rooms[n].jsonFrom:i.Rooms[n].jsonEnd] }

// roomList returns the JSON of all rooms of the instance, separated by commas.
func (i *Instance) roomList() []byte {
	if len(i.Rooms) == 0 {
		return nil
	}
	// In the head, the rooms follow each other, with their commas.
	return i.jsonHead[i.Rooms[0].jsonFrom:i.Rooms[len(i.Rooms)-1].jsonEnd]
}
