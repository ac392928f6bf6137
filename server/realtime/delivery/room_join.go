package delivery

import (
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// receiveJoin lets a session enter. If rows after its join were applied already, and the room does not remember them,
// the log is read first; the session misses the messages of rows that are not there. Further joins of the session wait
// behind that.
func (r *hubRoom) receiveJoin(b *batch, j *joining) {
	r.extendTail(j.laterRows)
	behind, isReading := r.joinsBehind[j.session]
	if isReading && !j.logWasRead {
		r.joinsBehind[j.session] = append(behind, j)
		return
	}
	if m := r.reenteringMember(j); m != nil {
		r.reenterMember(b, m, j)
		j.whenSent()
		return
	}
	// Once: rows that the log does not have either are gone, and the session would wait for ever.
	if !j.logWasRead && !r.hasRowsFrom(j.answer.RoomSnapshot.LogPosition) {
		r.joinsBehind[j.session] = nil
		r.requests.requestJoinRows(j)
		return
	}
	delete(r.joinsBehind, j.session)
	defer func() {
		for _, next := range behind {
			r.receiveJoin(b, next)
		}
	}()
	defer j.whenSent()
	r.enterMember(b, j.session, j.answer, j.entryKind)
}

// enterMember makes a session a member and sends it the room of an answer: presence, members, snapshot, and the
// messages since it joined.
func (r *hubRoom) enterMember(b *batch, s *session, a db.LobbyAnswer, kind string) {
	m := &member{room: r, session: s, sessionID: s.conn.Ref().ID, joinPos: a.RoomSnapshot.LogPosition}
	if !containsSession(a.RoomSnapshot.Members, m.sessionID) {
		return // the session left within the same transaction
	}
	row := &rowFrames{}
	if a.LogRow != nil {
		row = r.framesOf(*a.LogRow)
	}
	presence, messages := row.welcomeFrames(r.id, m.sessionID, kind)
	state, list := r.stateOf(a.RoomSnapshot), r.membersFrameOf(a.RoomSnapshot)
	// Rows after the join were applied before the job ran: the session enters at the position of the room instead, and
	// is sent the messages in between.
	if m.joinPos < r.pos {
		if !r.memberIDs[m.sessionID] {
			return // the session has left since
		}
		messages = append(messages, r.messagesAfter(m.joinPos)...)
		state, list, m.joinPos = r.state, r.membersFrame(), r.pos
	}
	// The connection ended while this job was queued.
	if !r.addMember(m) {
		return
	}
	m.statePos, m.listPos = m.joinPos, m.joinPos
	s.conn.Push(PushEvent, r.id, append(presence, list)...)
	m.sendSnapshot(b, state)
	messages = append(repeatedFrames(r.id, a.MissedRows), messages...)
	if len(messages) > 0 {
		s.conn.Push(PushEvent, r.id, messages...)
	}
}

// reenteringMember returns the member that a session already was when it joined again on its connection; nil: it has
// joined by this answer.
func (r *hubRoom) reenteringMember(j *joining) *member {
	m := r.localMembers[j.session.conn.Ref().ID]
	if m == nil || m.session != j.session {
		return nil
	}
	isOwn := func(e lobby.Entry) bool { return e.Session == m.sessionID && e.Kind == j.entryKind }
	if j.answer.LogRow != nil && slices.ContainsFunc(j.answer.LogRow.Entries, isOwn) {
		return nil
	}
	return m
}

// reenterMember sends a member the room of an answer. It stays the member that it was: messages that it was sent are not
// sent again, and those that are held, or come with rows before the answer, are not lost.
func (r *hubRoom) reenterMember(b *batch, m *member, j *joining) {
	presence, _ := (&rowFrames{}).welcomeFrames(r.id, m.sessionID, j.entryKind)
	answered := j.answer.RoomSnapshot
	state, list, at := r.stateOf(answered), r.membersFrameOf(answered), answered.LogPosition
	if at < r.pos {
		state, list, at = r.state, r.membersFrame(), r.pos
	}
	m.session.conn.Push(PushEvent, r.id, presence...)
	// The answer to a later join has overtaken this one, and the room has not come that far: the session has a later
	// list, and a snapshot follows when the room has a later state.
	if at < m.statePos {
		m.snapshotDue = true
		m.flushHeld(b)
		return
	}
	m.statePos, m.listPos = at, at
	hasHeld := len(m.heldFrames) > 0
	m.session.conn.Push(PushEvent, r.id, list)
	m.sendSnapshot(b, state)
	// After an older list that was held.
	if hasHeld {
		m.session.conn.Push(PushEvent, r.id, list)
	}
}

// repeatedFrames returns the messages of rows that a session may or may not have been sent, marked as repeated.
func repeatedFrames(room string, rows []db.LobbyRow) (frames []*wire.SharedFrame) {
	for _, row := range rows {
		for i, e := range row.Entries {
			if e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes {
				out := entryMessage(room, e, row.LogPos, i)
				out.P.(map[string]any)["repeated"] = true
				frames = append(frames, wire.NewSharedFrame(out))
			}
		}
	}
	return frames
}

// hasRowsFrom reports whether all rows after a position, up to the room's, are in the tail.
func (r *hubRoom) hasRowsFrom(pos int64) bool { return r.pos-pos <= int64(len(r.tailRows)) }

// extendTail extends the tail to the front by rows of the log.
func (r *hubRoom) extendTail(rows []db.LobbyRow) {
	for _, row := range slices.Backward(rows) {
		// The tail has no gaps: rows before a gap are of no use.
		if row.LogPos == r.pos-int64(len(r.tailRows)) {
			r.tailRows = slices.Insert(r.tailRows, 0, newRowFrames(r.id, row))
		}
	}
}

// addMember makes m the member for its session. It returns false if the connection is gone.
func (r *hubRoom) addMember(m *member) bool {
	if old := r.localMembers[m.sessionID]; old != nil {
		// The same connection joins once more: how often it has forced snapshots still counts.
		if old.session == m.session {
			m.snapshotPolicy = old.snapshotPolicy
		}
		r.forgetMember(old)
	}
	if !m.session.addMember(r.id, m) {
		return false
	}
	r.localMembers[m.sessionID] = m
	return true
}

func containsSession(members []lobby.Member, session string) bool {
	for _, m := range members {
		if m.Session == session {
			return true
		}
	}
	return false
}

// framesOf returns the frames of a row, which others may have been sent.
func (r *hubRoom) framesOf(row db.LobbyRow) *rowFrames {
	for _, f := range r.tailRows {
		if f.pos == row.LogPos {
			return f
		}
	}
	return newRowFrames(r.id, row)
}

// stateOf returns the state of a snapshot, or the room's own if that is later. It keeps a later state of a snapshot, so
// that sessions that join with it share its frames.
func (r *hubRoom) stateOf(s *lobby.Snapshot) *stateFrames {
	switch {
	case s.StateSeq <= r.state.seq:
		return r.state
	case r.aheadState == nil || r.aheadState.seq != s.StateSeq:
		r.aheadState = newStateFrames(r.id, s.StateSeq, s.State)
	}
	return r.aheadState
}

// messagesAfter returns the messages of the rows after a position that are still known.
func (r *hubRoom) messagesAfter(pos int64) (messages []*wire.SharedFrame) {
	for _, f := range r.tailRows {
		for i, e := range f.entries {
			if f.pos > pos && (e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes) {
				messages = append(messages, f.entryFrames[i])
			}
		}
	}
	return messages
}
