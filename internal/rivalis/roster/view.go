package roster

import (
	"encoding/base64"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
)

// View is the fleet as it was in one snapshot of the database. It is immutable.
type View struct {
	fleetStats Stats
	byJoining  []*Instance         // in the order of joining
	byRank     []*Instance         // the same by rank, see near.go
	heardAt    map[uuid.UUID]int64 // when each replica had heard from all its agents, in Unix milliseconds
	changedTx  uint64              // the latest transaction whose change the view includes
}

// Stats returns the totals.
func (v *View) Stats() Stats { return v.fleetStats }

// Instances returns the instances in the order of joining. Callers must not change the slice.
func (v *View) Instances() []*Instance { return v.byJoining }

// Page is a part of a list. The zero value is the whole list.
type Page struct {
	Limit  int    // 0: all
	Cursor string // next of the previous page, or empty
}

// Filter selects rooms. The zero value selects all.
type Filter struct {
	Type       *string
	InstanceID *string
	Labels     []Label // the room's instance must have all of them
}

// Label is a label of instances.
type Label struct{ Key, Value string }

// AppendInstance appends the JSON of one of the view's instances.
func (v *View) AppendInstance(b []byte, i *Instance) []byte {
	return i.appendJSON(b, v.heardAt[i.replicaID])
}

// AppendInstances appends a page of InstanceInfo as a JSON array. next is the Cursor of the following page; it is empty
// on the last page.
func (v *View) AppendInstances(b []byte, p Page) (list []byte, next string) {
	from := v.startAfter(p.Cursor)
	to := len(v.byJoining)
	if p.Limit > 0 && to-from > p.Limit {
		to = from + p.Limit
		next = v.byJoining[to-1].cursorAfter("")
	}
	b = slices.Grow(b, v.jsonSize(from, to))
	b = appendList(append(b, '['), v.byJoining[from:to], v.AppendInstance)
	return append(b, ']'), next
}

// jsonSize returns the approximate size of the instances' JSON in bytes.
func (v *View) jsonSize(from, to int) (n int) {
	const around = len(`,"lastSyncAt":1700000000000,`)
	for _, i := range v.byJoining[from:to] {
		n += len(i.jsonHead) + len(i.jsonTail) + around
	}
	return n + 2
}

// AppendRooms appends a page of RoomInfo as a JSON array: the rooms that the filter selects, ordered by instance and
// then by id. next is as in AppendInstances.
func (v *View) AppendRooms(b []byte, f Filter, p Page) (list []byte, next string) {
	w := roomWriter{buffer: append(b, '['), roomsLeft: p.Limit, isLimited: p.Limit > 0}
	from, room := v.startAfterRoom(p.Cursor)
	for _, i := range v.byJoining[from:] {
		if !f.choosesInstance(i) {
			room = ""
			continue
		}
		if next = w.writeRooms(i, f.Type, room); next != "" {
			break
		}
		room = ""
	}
	return append(w.buffer, ']'), next
}

func (f Filter) choosesInstance(i *Instance) bool {
	if f.InstanceID != nil && *f.InstanceID != i.ID {
		return false
	}
	return !slices.ContainsFunc(f.Labels, func(l Label) bool {
		value, ok := i.Labels[l.Key]
		return !ok || value != l.Value
	})
}

// roomWriter writes a list of rooms.
type roomWriter struct {
	buffer     []byte
	roomsLeft  int
	isLimited  bool
	lastCursor string // the cursor of the last room of a full page
	hasRooms   bool
}

// writeRooms writes the rooms of an instance after an id. If the page is full and another room follows, it returns the
// cursor of the last room written.
func (w *roomWriter) writeRooms(i *Instance, ofType *string, after string) (next string) {
	// If no room is left out, the JSON of all rooms is taken in one piece.
	if ofType == nil && after == "" && !w.isLimited {
		w.appendRooms(i.roomList())
		return ""
	}
	for n, r := range i.Rooms {
		if after != "" && r.ID <= after || ofType != nil && *ofType != r.Type {
			continue
		}
		if w.isLimited && w.roomsLeft == 0 {
			return w.lastCursor
		}
		w.appendRooms(i.roomJSON(n))
		w.roomsLeft--
		if w.isLimited && w.roomsLeft == 0 {
			w.lastCursor = i.cursorAfter(r.ID)
		}
	}
	return ""
}

func (w *roomWriter) appendRooms(rooms []byte) {
	if len(rooms) == 0 {
		return
	}
	if w.hasRooms {
		w.buffer = append(w.buffer, ',')
	}
	w.hasRooms = true
	w.buffer = append(w.buffer, rooms...)
}

// cursorAfter encodes a place in a list: after an instance, or after one of its rooms. It needs no escaping in a URL.
func (i *Instance) cursorAfter(room string) string {
	// The cursor names a place, and not a number: pages neither skip nor repeat instances when others join or leave
	// between them.
	text := strconv.FormatInt(i.joinedAt.UnixMicro(), 10) + " " + i.ID + " " + room
	return base64.RawURLEncoding.EncodeToString([]byte(text))
}

// startAfter returns the index of the first instance after a cursor. An invalid cursor means the start of the list.
func (v *View) startAfter(cursor string) int {
	i, _, found := v.findCursor(cursor)
	if found {
		return i + 1
	}
	return i
}

// startAfterRoom returns the index of the instance at which a list of rooms continues after a cursor. If that is the
// cursor's own, room is the id after which its rooms continue; otherwise it is empty.
func (v *View) startAfterRoom(cursor string) (from int, room string) {
	i, room, found := v.findCursor(cursor)
	switch {
	// The instance has left: the instances that followed it are next.
	case !found:
		return i, ""
	// The previous page ended behind all rooms of the instance.
	case room == "":
		return i + 1, ""
	}
	return i, room
}

// findCursor returns the index of a cursor's instance, or where it would be; and the room, if the cursor names one. An
// invalid cursor is before all instances.
func (v *View) findCursor(cursor string) (index int, room string, found bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	parts := strings.SplitN(string(text), " ", 3)
	if err != nil || len(parts) != 3 {
		return 0, "", false
	}
	micros, err := strconv.ParseInt(parts[0], 10, 64)
	if err != nil {
		return 0, "", false
	}
	place := Instance{joinedAt: time.UnixMicro(micros), ID: parts[1]}
	index, found = slices.BinarySearchFunc(v.byJoining, &place, (*Instance).compareJoining)
	return index, parts[2], found
}
