package db

import "time"

// showRooms stores rooms that an agent reports.
func (t *agentTx) showRooms(a *agentRow, rooms []ReportedRoom) {
	for _, shown := range rooms {
		key := roomKey{a.ref.ID, roomBase(shown.RawID)}
		if r := t.roomsByKey[key]; r != nil && !r.isDeleted {
			t.updateRoom(a, r, shown)
			continue
		}
		t.addReportedRoom(a, key, shown)
	}
}

func (t *agentTx) addReportedRoom(a *agentRow, key roomKey, shown ReportedRoom) {
	r := &roomRow{agentID: a.ref.ID, baseID: key.baseID, roomType: shown.Type, connectionCount: shown.ConnectionCount,
		isLocal: shown.IsLocal, state: roomReported, isNew: true}
	t.roomsByKey[key] = r
	t.roomsByAgent[a.ref.ID] = append(t.roomsByAgent[a.ref.ID], r)
	t.newRooms = append(t.newRooms, r)
	a.count(r, 1)
	if !a.isNewlyListed {
		t.agentEvents.noteCreated(r)
	}
}

// updateRoom stores what an agent reports of a room that is known.
func (t *agentTx) updateRoom(a *agentRow, r *roomRow, shown ReportedRoom) {
	if r.state == roomReported && r.roomType == shown.Type && r.connectionCount == shown.ConnectionCount &&
		r.isLocal == shown.IsLocal {
		return
	}
	// A commanded room is announced when its agent shows it, or by the ack of its command, whichever comes first.
	if r.state == roomReserved && !a.isNewlyListed {
		t.agentEvents.noteCreated(r)
	}
	// Counted out under its old state and connections, and in under the new ones.
	a.count(r, -1)
	r.roomType, r.connectionCount, r.isLocal = shown.Type, shown.ConnectionCount, shown.IsLocal
	r.state, r.hasChanged = roomReported, true
	a.count(r, 1)
}

// judgeRooms decides from a reply, which was received the given age ago, whether commanded rooms exist. The reply
// contains all existing rooms. A missing room does not exist if its command was acked, or had timed out before the
// reply.
func (t *agentTx) judgeRooms(a *agentRow, age time.Duration) {
	if !a.owesSnapshot {
		return
	}
	stillOwes := false
	for _, r := range t.roomsByAgent[a.ref.ID] {
		hasTimedOut := r.state == roomReserved && r.settledFor >= 0
		switch {
		// settledFor and age are both seconds before now. If the command timed out before the reply, the reply would
		// have the room if the agent had made it.
		case r.state == roomCreated, hasTimedOut && r.settledFor > age.Seconds():
			t.removeRoom(a, r)
		case hasTimedOut && !r.isDeleted:
			stillOwes = true // the agent sent the reply before the command timed out
		}
	}
	if !stillOwes {
		a.owesSnapshot, a.hasNewState = false, true
	}
}

// removeRoom deletes a room, unless it is deleted already. The event of a listed room says so.
func (t *agentTx) removeRoom(a *agentRow, r *roomRow) {
	if r.isDeleted {
		return
	}
	if r.isListed() && !a.isNewlyListed {
		t.agentEvents.noteDestroyed(a, r)
	}
	r.isDeleted = true
	a.count(r, -1)
}

// count adds a room to the counters of its agent n times; with -1 it takes the room out.
func (a *agentRow) count(r *roomRow, n int32) {
	a.hasNewState = true
	if r.state == roomReserved {
		a.reservedCount += n
		return
	}
	a.roomCount += n
	a.connectionCount += int64(n) * int64(r.connectionCount)
}
