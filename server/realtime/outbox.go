package realtime

import (
	"time"

	"github.com/lattice-director/director/server/realtime/delivery"
)

// Bounds of what waits to be written on a connection.
const (
	maxParcels     = 256
	maxOutboxBytes = 1 << 20
)

// parcel is one entry of an outbox: frames that belong together.
type parcel struct {
	frames [][]byte
	bytes  int
	class  delivery.PushClass
	room   string

	decidedAt time.Time // see wire.SharedFrame; of the first frame
}

// droppable reports whether a later snapshot of the room replaces the parcel.
func (p parcel) droppable() bool {
	return p.class == delivery.PushPatch || p.class == delivery.PushSnapshot
}

// outbox is what waits to be written on a connection, in order and in bounded memory. A client that reads too slowly
// loses patches of rooms, and gets a snapshot of them later; it never loses anything else. Not safe for concurrent use.
type outbox struct {
	queue []parcel
	bytes int
	// rooms whose patches were dropped; true: reported by hungry. No patch of them is queued until a snapshot is
	starving map[string]bool
}

// put queues a parcel. dropped is the number of parcels that were dropped instead. It returns false if the outbox is
// full of parcels that must not be dropped: the client has to reconnect.
func (o *outbox) put(p parcel) (dropped int, ok bool) {
	_, starves := o.starving[p.room]
	switch {
	case p.class == delivery.PushPatch && starves:
		// A patch needs the state before it, which this client did not get: it is of no use before the next snapshot.
		return 1, true
	case p.class == delivery.PushSnapshot:
		o.drop(p.room) // what the snapshot replaces
		delete(o.starving, p.room)
	}
	for !o.fits(p) {
		room, found := o.largest()
		// The new patch itself does not fit: its own room starves, and other rooms keep what they have.
		if p.droppable() {
			room, found = p.room, true
		}
		if !found {
			return dropped, false
		}
		dropped += o.starve(room)
		if p.droppable() {
			return dropped + 1, true
		}
	}
	o.queue = append(o.queue, p)
	o.bytes += p.bytes
	return dropped, true
}

// fits reports whether there is space. An empty outbox has space for anything.
func (o *outbox) fits(p parcel) bool {
	return len(o.queue) == 0 || len(o.queue) < maxParcels && o.bytes+p.bytes <= maxOutboxBytes
}

// starve drops the patches and the snapshot of a room, and returns how many.
func (o *outbox) starve(room string) int {
	if o.starving == nil {
		o.starving = map[string]bool{}
	}
	o.starving[room] = false
	return o.drop(room)
}

func (o *outbox) drop(room string) (dropped int) {
	kept := o.queue[:0]
	for _, p := range o.queue {
		if p.droppable() && p.room == room {
			o.bytes -= p.bytes
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

// largest returns the room whose patches and snapshot take the most space; found is false if there are none.
func (o *outbox) largest() (room string, found bool) {
	const overhead = 64 // of a parcel, so that empty ones count
	most, sizes := 0, map[string]int{}
	for _, p := range o.queue {
		if !p.droppable() {
			continue
		}
		sizes[p.room] += p.bytes + overhead
		if sizes[p.room] > most {
			most, room = sizes[p.room], p.room
		}
	}
	return room, most > 0
}

// take removes the oldest parcel.
func (o *outbox) take() (p parcel, ok bool) {
	if len(o.queue) == 0 {
		o.queue = nil // an idle connection keeps no memory
		return parcel{}, false
	}
	p = o.queue[0]
	o.queue[0] = parcel{}
	o.queue = o.queue[1:]
	o.bytes -= p.bytes
	return p, true
}

func (o *outbox) halfFree() bool { return len(o.queue) <= maxParcels/2 && o.bytes <= maxOutboxBytes/2 }

// hungry returns the rooms that need a snapshot, each once, as soon as half of the outbox is free.
func (o *outbox) hungry() (rooms []string) {
	if len(o.starving) == 0 || !o.halfFree() {
		return nil
	}
	for room, reported := range o.starving {
		if !reported {
			rooms = append(rooms, room)
			o.starving[room] = true
		}
	}
	return rooms
}
