package roster

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// The types of events. Data is InstanceInfo for instance events, RoomInfo for room events, and FleetStats for Sync and
// Resync.
const (
	InstanceJoined    = "instance:join"
	InstanceLeft      = "instance:leave"
	InstanceStale     = "instance:stale"
	InstanceRecovered = "instance:recovered"
	RoomCreated       = "room:create"
	RoomDestroyed     = "room:destroy"
	Sync              = "sync"   // the state hash has changed, and all events of that change precede this one
	Resync            = "resync" // events were lost: the client must read the lists again
)

// Event is a change of the fleet, as sent to the streams.
type Event struct {
	ID   string // the position from which a stream resumes after this event; empty for Sync and Resync
	Type string
	Data []byte // JSON
}

// position is the position of an event in the log.
type position struct {
	rowTx    uint64
	rowID    uuid.UUID // of the row
	rowIndex int       // index among the events of the row, from 0
}

func (p position) compare(q position) int {
	return cmp.Or(cmp.Compare(p.rowTx, q.rowTx), bytes.Compare(p.rowID[:], q.rowID[:]),
		cmp.Compare(p.rowIndex, q.rowIndex))
}

// maxInRow is the rowIndex of the position after all events of a row.
const maxInRow = math.MaxInt

// String returns the id of the event.
func (p position) String() string { return fmt.Sprintf("%d.%s.%d", p.rowTx, p.rowID, p.rowIndex) }

// parsePosition reads the id of an event.
func parsePosition(id string) (position, bool) {
	parts := strings.Split(id, ".")
	if len(parts) != 3 {
		return position{}, false
	}
	tx, err := strconv.ParseUint(parts[0], 10, 64)
	row, badRow := uuid.Parse(parts[1])
	// 31 bits fit an int on every platform; no row has as many events.
	n, badN := strconv.ParseUint(parts[2], 10, 31)
	p := position{rowTx: tx, rowID: row, rowIndex: int(n)}
	// The id must have the form in which ids are sent: uuid.Parse accepts others as well.
	return p, cmp.Or(err, badRow, badN) == nil && p.String() == id
}

// entry is an event with its position. The position of a Sync is the end of the part of the log that was read before
// it.
type entry struct {
	event Event

	position position
}

// expandRow returns the events of a row of the log. Errors: the row's detail does not fit its kind.
func expandRow(row *db.AgentEvent) ([]entry, error) {
	var all []entry
	add := func(kind string, data []byte) {
		at := position{row.Tx, row.ID, len(all)}
		all = append(all, entry{Event{ID: at.String(), Type: kind, Data: data}, at})
	}
	switch row.Kind {
	case db.EventAgentJoined, db.EventAgentLeft, db.EventAgentStale, db.EventAgentRecovered:
		var info db.InstanceInfo
		if err := json.Unmarshal(row.Detail, &info); err != nil {
			return nil, err
		}
		kinds := instanceEvents[row.Kind]
		add(kinds.instance, AppendInstanceInfo(nil, &info))
		// An instance that is stale or recovers keeps its rooms, which get no events.
		if kinds.room == "" {
			return all, nil
		}
		for i := range info.Rooms {
			add(kinds.room, AppendRoomInfo(nil, &info.Rooms[i]))
		}
	case db.EventRoomCreated, db.EventRoomDestroyed:
		var info db.RoomInfo
		if err := json.Unmarshal(row.Detail, &info); err != nil {
			return nil, err
		}
		add(roomEvents[row.Kind], AppendRoomInfo(nil, &info))
	}
	// Other kinds, such as those of a newer version, are no events of Rivalis.
	return all, nil
}

// instanceEvents are the events of a row by its kind: one for the instance, then one for each of its rooms.
var instanceEvents = map[string]struct{ instance, room string }{
	db.EventAgentJoined:    {InstanceJoined, RoomCreated},
	db.EventAgentLeft:      {InstanceLeft, RoomDestroyed},
	db.EventAgentStale:     {instance: InstanceStale},
	db.EventAgentRecovered: {instance: InstanceRecovered},
}

var roomEvents = map[string]string{db.EventRoomCreated: RoomCreated, db.EventRoomDestroyed: RoomDestroyed}

// changesFleet reports whether the event changes the lists, so that a Sync must follow.
func (e *Event) changesFleet() bool { return e.Type != InstanceStale && e.Type != InstanceRecovered }
