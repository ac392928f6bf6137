package realtime

import (
	"time"

	"github.com/lattice-director/director/server/realtime/delivery"
)

// Bounds of what waits to be written on a connection.
const (
	maxParcels     = 256
	maxOutboxBytes = 1 << 20 // of encoded frames
)

// parcel is one entry of an outbox: frames that belong together.
type parcel struct {
	frames    [][]byte
	byteCount int
	pushClass delivery.PushClass
	roomID    string

	decidedAt time.Time // see wire.SharedFrame; of the first frame
}

// isDroppable reports whether a later snapshot of the room replaces the parcel.
func (p parcel) isDroppable() bool {
	return p.pushClass == delivery.PushPatch || p.pushClass == delivery.PushSnapshot
}

// outbox is what waits to be written on a connection, in order and in bounded memory. A client that reads too slowly
// loses patches of rooms, and gets a snapshot of them later; it never loses anything else. Not safe for concurrent use.
type outbox struct {
	queue       []parcel
	queuedBytes int
	// Rooms whose patches were dropped; true: takeStarving has returned it. No patch of them is queued until a snapshot
	// is.
	starvingRooms map[string]bool
}

// putParcel queues a parcel. dropped is the number of parcels that were dropped instead. It returns false if the outbox
// is full of parcels that must not be dropped: the client has to reconnect.
func (o *outbox) putParcel(p parcel) (dropped int, ok bool) {
	_, starves := o.starvingRooms[p.roomID]
	switch {
	case p.pushClass == delivery.PushPatch && starves:
		// A patch needs the state before it, which this client did not get: it is of no use before the next snapshot.
		return 1, true
	case p.pushClass == delivery.PushSnapshot:
		o.dropStateOf(p.roomID) // what the snapshot replaces
		delete(o.starvingRooms, p.roomID)
	}
	for !o.hasSpaceFor(p) {
		// A patch or snapshot that does not fit: its own room starves, and other rooms keep what they have.
		if p.isDroppable() {
			return o.starveRoom(p.roomID) + 1, true
		}
		// The room that takes most loses its patches first: a busy room must not cost a quiet one its state.
		room, found := o.largestRoom()
		if !found {
			return dropped, false
		}
		dropped += o.starveRoom(room)
	}
	o.queue = append(o.queue, p)
	o.queuedBytes += p.byteCount
	return dropped, true
}

// hasSpaceFor reports whether there is space. An empty outbox has space for anything.
func (o *outbox) hasSpaceFor(p parcel) bool {
	return len(o.queue) == 0 || len(o.queue) < maxParcels && o.queuedBytes+p.byteCount <= maxOutboxBytes
}

// starveRoom drops the patches and the snapshot of a room, which gets no patch until its next snapshot. It returns how
// many it has dropped.
func (o *outbox) starveRoom(room string) int {
	if o.starvingRooms == nil {
		o.starvingRooms = map[string]bool{}
	}
	o.starvingRooms[room] = false
	return o.dropStateOf(room)
}

// dropStateOf drops the queued patches and the snapshot of a room.
func (o *outbox) dropStateOf(room string) (dropped int) {
	kept := o.queue[:0]
	for _, p := range o.queue {
		if p.isDroppable() && p.roomID == room {
			o.queuedBytes -= p.byteCount
			dropped++
			continue
		}
		kept = append(kept, p)
	}
	// The array behind the queue would keep the frames that were dropped from being freed.
	clear(o.queue[len(kept):])
	o.queue = kept
	return dropped
}

// largestRoom returns the room whose patches and snapshot take the most space; found is false if there are none.
func (o *outbox) largestRoom() (room string, found bool) {
	const overhead = 64 // of a parcel, so that empty ones count
	most, sizes := 0, map[string]int{}
	for _, p := range o.queue {
		if !p.isDroppable() {
			continue
		}
		sizes[p.roomID] += p.byteCount + overhead
		if sizes[p.roomID] > most {
			most, room = sizes[p.roomID], p.roomID
		}
	}
	return room, most > 0
}

// takeOldest removes the oldest parcel.
func (o *outbox) takeOldest() (p parcel, ok bool) {
	if len(o.queue) == 0 {
		o.queue = nil // an idle connection keeps no memory
		return parcel{}, false
	}
	p = o.queue[0]
	o.queue[0] = parcel{}
	o.queue = o.queue[1:]
	o.queuedBytes -= p.byteCount
	return p, true
}

// isHalfFree reports whether half of the outbox is free, by parcels and by bytes.
func (o *outbox) isHalfFree() bool {
	return len(o.queue) <= maxParcels/2 && o.queuedBytes <= maxOutboxBytes/2
}

// takeStarving returns the rooms that need a snapshot, each once, as soon as half of the outbox is free.
func (o *outbox) takeStarving() (rooms []string) {
	if len(o.starvingRooms) == 0 || !o.isHalfFree() {
		return nil
	}
	for room, reported := range o.starvingRooms {
		// Once: a snapshot that was asked for is on its way, whatever is written meanwhile.
		if !reported {
			rooms = append(rooms, room)
			o.starvingRooms[room] = true
		}
	}
	return rooms
}
