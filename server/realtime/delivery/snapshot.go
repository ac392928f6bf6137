package delivery

import (
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// stateFrames is a state of a room, which does not change, with its checksum and its frames, which are made once. Not
// safe for concurrent use.
type stateFrames struct {
	room  string
	seq   int64
	state lobby.State

	isSummed     bool
	checksumText string
	checksumKind lobby.ChecksumKind
	frames       [2]*wire.SharedFrame // without and with checksum
}

func newStateFrames(room string, seq int64, state lobby.State) *stateFrames {
	return &stateFrames{room: room, seq: seq, state: state}
}

// stateAfter returns the state after a row with a patch.
func (s *stateFrames) stateAfter(o rowOffer) *stateFrames {
	if o.snapshot != nil && o.snapshot.LogPosition == o.row.LogPos {
		return newStateFrames(s.room, o.snapshot.StateSeq, o.snapshot.State)
	}
	return newStateFrames(s.room, o.row.StateSeq, patchState(s.state, o.row.Patch))
}

// patchState returns a copy of a state with changes.
func patchState(s lobby.State, ops []lobby.Op) lobby.State {
	next := maps.Clone(s)
	for _, op := range ops {
		key := unescapeKey.Replace(strings.TrimPrefix(op.Path, "/"))
		if op.Op == "del" {
			delete(next, key)
		} else {
			next[key] = op.Value
		}
	}
	return next
}

var unescapeKey = strings.NewReplacer("~1", "/", "~0", "~")

func (s *stateFrames) checksum() (string, lobby.ChecksumKind) {
	if !s.isSummed {
		s.checksumText, s.checksumKind = s.state.Checksum()
		s.isSummed = true
	}
	return s.checksumText, s.checksumKind
}

func (s *stateFrames) snapshotFrame(withChecksum bool) *wire.SharedFrame {
	i, sum := 0, ""
	if withChecksum {
		i = 1
		sum, _ = s.checksum()
	}
	if s.frames[i] == nil {
		s.frames[i] = wire.NewSharedFrame(snapshotMessage(s.room, s.seq, s.state.JSON(), sum))
	}
	return s.frames[i]
}

// rowFrames are the frames of a row of a room's log.
type rowFrames struct {
	pos, seq    int64
	patch       *wire.SharedFrame // nil: the row does not change the state
	entries     []lobby.Entry
	entryFrames []*wire.SharedFrame // of the entries
	leavers     map[string]int
}

func newRowFrames(room string, row db.LobbyRow) *rowFrames {
	f := &rowFrames{pos: row.LogPos, seq: row.StateSeq, entries: row.Entries,
		entryFrames: make([]*wire.SharedFrame, len(row.Entries))}
	if len(row.Patch) > 0 {
		f.patch = wire.NewSharedFrame(patchMessage(room, row.StateSeq, row.Patch))
		f.patch.DecidedAt = row.WrittenAt
	}
	for i, e := range row.Entries {
		f.entryFrames[i] = wire.NewSharedFrame(entryMessage(room, e, row.LogPos, i))
		f.entryFrames[i].DecidedAt = row.WrittenAt
		if e.Kind == lobby.EntryLeft {
			if f.leavers == nil {
				f.leavers = map[string]int{}
			}
			f.leavers[e.Session] = i
		}
	}
	return f
}

// findLeaver reports whether a session leaves with the row. reason is the frame that tells it why, nil if it left by
// itself.
func (f *rowFrames) findLeaver(session string) (left bool, reason *wire.SharedFrame) {
	i, left := f.leavers[session]
	if left && f.entries[i].Reason != "" {
		reason = f.entryFrames[i]
	}
	return left, reason
}

// welcome returns what the row tells a session that joined or came back with it: its own entry and the presence of
// others after it, and then the messages. Without an entry of the session, it is told of itself all the same: it was a
// member already.
func (f *rowFrames) welcome(room, session, kind string) (presence, messages []*wire.SharedFrame) {
	first := -1
	for i, e := range f.entries {
		if e.Session == session && e.Kind == kind {
			first = i
		}
	}
	if first < 0 {
		return []*wire.SharedFrame{wire.NewSharedFrame(entryMessage(room,
			lobby.Entry{Kind: kind, Session: session}, 0, 0))}, nil
	}
	for i, e := range f.entries[first:] {
		if e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes {
			messages = append(messages, f.entryFrames[first+i])
		} else {
			presence = append(presence, f.entryFrames[first+i])
		}
	}
	return presence, messages
}

// receiveJoin lets a session enter. If rows behind its join were applied already, and the room does not remember them,
// the log is read first; the session misses the messages of rows that are not there.
func (r *hubRoom) receiveJoin(b *batch, j *joining) {
	r.extendTail(j.laterRows)
	if !j.logWasRead && !r.hasRowsFrom(j.answer.RoomSnapshot.LogPosition) {
		r.hub.logReader.requestJoinRows(j)
		return
	}
	defer j.countDown()
	r.enterMember(b, j.session, j.answer, j.entryKind)
}

// enterMember makes a session a member and sends it the room of an answer: presence, members, snapshot, and the
// messages since it joined.
func (r *hubRoom) enterMember(b *batch, s *session, a db.LobbyAnswer, kind string) {
	m := &member{room: r, session: s, sessionID: s.Ref().ID, joinPos: a.RoomSnapshot.LogPosition}
	if !containsSession(a.RoomSnapshot.Members, m.sessionID) {
		return // it left within the same transaction
	}
	row := &rowFrames{}
	if a.LogRow != nil {
		row = r.framesOf(*a.LogRow)
	}
	presence, messages := row.welcome(r.id, m.sessionID, kind)
	state, list := r.stateOf(a.RoomSnapshot), r.membersFrameOf(a.RoomSnapshot)
	// Rows behind the join were applied before the job ran: the session enters at the position of the room instead, and
	// is sent the messages in between.
	if m.joinPos < r.pos {
		if !r.memberIDs[m.sessionID] {
			return // it has left since
		}
		messages = append(messages, r.messagesAfter(m.joinPos)...)
		state, list, m.joinPos = r.state, r.membersFrame(), r.pos
	}
	if !r.addMember(m) {
		return
	}
	m.listPos = m.joinPos
	s.Push(PushEvent, r.id, append(presence, list)...)
	m.sendSnapshot(b, state)
	messages = append(repeatedFrames(r.id, a.MissedRows), messages...)
	if len(messages) > 0 {
		s.Push(PushEvent, r.id, messages...)
	}
}

// repeatedFrames returns the messages of rows that a session may not have been sent, marked.
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

// hasRowsFrom reports whether all rows behind a position, up to the room's, are in the tail.
func (r *hubRoom) hasRowsFrom(pos int64) bool { return r.pos-pos <= int64(len(r.tailRows)) }

// extendTail extends the tail to the front by rows of the log.
func (r *hubRoom) extendTail(rows []db.LobbyRow) {
	for _, row := range slices.Backward(rows) {
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

// stateOf returns the state of a snapshot that is not before the room's own.
func (r *hubRoom) stateOf(s *lobby.Snapshot) *stateFrames {
	switch {
	case s.StateSeq <= r.state.seq:
		return r.state
	case r.aheadState == nil || r.aheadState.seq != s.StateSeq:
		r.aheadState = newStateFrames(r.id, s.StateSeq, s.State)
	}
	return r.aheadState
}

// messagesAfter returns the messages of the rows behind a position that are still known.
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
