package db

import "time"

// showRooms stores rooms that an agent reports.
func (t *agentTx) showRooms(a *agentRow, rooms []ReportedRoom, announce bool) {
	for _, shown := range rooms {
		key := roomKey{a.ref.ID, roomBase(shown.RawID)}
		r := t.roomsByKey[key]
		if r == nil || r.isDeleted {
			r = &roomRow{agentID: a.ref.ID, baseID: key.baseID, roomType: shown.Type,
				connectionCount: shown.ConnectionCount,
				isLocal:         shown.IsLocal, state: roomReported, isNew: true}
			t.roomsByKey[key] = r
			t.ofID[a.ref.ID] = append(t.ofID[a.ref.ID], r)
			t.newRooms = append(t.newRooms, r)
			a.count(r, 1)
			t.announce(announce, r)
			continue
		}
		t.showAgain(a, r, shown, announce)
	}
}

func (t *agentTx) showAgain(a *agentRow, r *roomRow, shown ReportedRoom, announce bool) {
	if r.state == roomReported && r.roomType == shown.Type && r.connectionCount == shown.ConnectionCount &&
		r.isLocal == shown.IsLocal {
		return
	}
	// Callers learn of a commanded room when its agent shows it, or by the ack of its command, whichever comes first.
	t.announce(announce && r.state == roomReserved, r)
	// Counted out under its old state and connections, and in under the new ones.
	a.count(r, -1)
	r.roomType, r.connectionCount, r.isLocal, r.state, r.hasChanged = shown.Type, shown.ConnectionCount, shown.IsLocal, roomReported, true
	a.count(r, 1)
}

func (t *agentTx) announce(announce bool, r *roomRow) {
	if announce {
		t.agentEvents.noteCreated(r)
	}
}

// judgeRooms decides from a reply, which was received the given age ago, whether commanded rooms exist. The reply
// contains all existing rooms. A missing room does not exist if its command was acked, or had timed out before the
// reply.
func (t *agentTx) judgeRooms(a *agentRow, age time.Duration) {
	if !a.owesSnapshot {
		return
	}
	owes := false
	for _, r := range t.ofID[a.ref.ID] {
		switch {
		case r.isDeleted:
		// settledFor and age are both seconds before now. The command timed out before the reply, so the reply would
		// have the room if the agent had made it.
		case r.state == roomCreated, r.state == roomReserved && r.settledFor > age.Seconds():
			t.removeRoom(a, r, r.state == roomCreated)
		case r.state == roomReserved && r.settledFor >= 0:
			owes = true // the agent sent the reply before the command timed out
		}
	}
	if !owes {
		a.owesSnapshot, a.hasNewState = false, true
	}
}

func (t *agentTx) removeRoom(a *agentRow, r *roomRow, announce bool) {
	if r.isDeleted {
		return
	}
	if announce {
		t.agentEvents.noteDestroyed(a, r)
	}
	r.isDeleted = true
	a.count(r, -1)
}

// count adds a room to the counters of its agent, n times.
func (a *agentRow) count(r *roomRow, n int32) {
	a.hasNewState = true
	if r.state == roomReserved {
		a.reservedCount += n
		return
	}
	a.roomCount += n
	a.connectionCount += int64(n) * int64(r.connectionCount)
}
