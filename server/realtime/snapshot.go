package realtime

import (
	"maps"
	"slices"
	"strings"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
)

// stateFrames is a state of a room, which does not change, with its checksum and its frames, which are made once. Not safe for concurrent use.
type stateFrames struct {
	room  string
	seq   int64
	state lobby.State

	summed bool
	sum    string
	kind   lobby.ChecksumKind
	frames [2]*shared // without and with checksum
}

func newStateFrames(room string, seq int64, state lobby.State) *stateFrames {
	return &stateFrames{room: room, seq: seq, state: state}
}

// after returns the state after a row with a patch.
func (s *stateFrames) after(o offer) *stateFrames {
	if o.after != nil && o.after.Pos == o.row.Pos {
		return newStateFrames(s.room, o.after.Seq, o.after.State)
	}
	return newStateFrames(s.room, o.row.Seq, patched(s.state, o.row.Patch))
}

// patched returns a copy of a state with changes.
func patched(s lobby.State, ops []lobby.Op) lobby.State {
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
	if !s.summed {
		s.sum, s.kind = s.state.Checksum()
		s.summed = true
	}
	return s.sum, s.kind
}

func (s *stateFrames) frame(withChecksum bool) *shared {
	i, sum := 0, ""
	if withChecksum {
		i = 1
		sum, _ = s.checksum()
	}
	if s.frames[i] == nil {
		s.frames[i] = newShared(snapshotMessage(s.room, s.seq, s.state.JSON(), sum))
	}
	return s.frames[i]
}

// rowFrames are the frames of a row of a room's log.
type rowFrames struct {
	pos, seq int64
	patch    *shared // nil: the row does not change the state
	entries  []lobby.Entry
	events   []*shared // of the entries
	left     map[string]int
}

func newRowFrames(room string, row db.LobbyRow) *rowFrames {
	f := &rowFrames{pos: row.Pos, seq: row.Seq, entries: row.Entries, events: make([]*shared, len(row.Entries))}
	if len(row.Patch) > 0 {
		f.patch = newShared(patchMessage(room, row.Seq, row.Patch))
		f.patch.decided = row.At
	}
	for i, e := range row.Entries {
		f.events[i] = newShared(entryMessage(room, e))
		f.events[i].decided = row.At
		if e.Kind == lobby.EntryLeft {
			if f.left == nil {
				f.left = map[string]int{}
			}
			f.left[e.Session] = i
		}
	}
	return f
}

// leaves reports whether a session leaves with the row. reason is the frame that tells it why, nil if it left by itself.
func (f *rowFrames) leaves(session string) (left bool, reason *shared) {
	i, left := f.left[session]
	if left && f.entries[i].Reason != "" {
		reason = f.events[i]
	}
	return left, reason
}

// welcome returns what the row tells a session that joined or came back with it: its own entry and the presence of others after it, and then the
// messages. Without an entry of the session, it is told of itself all the same: it was a member already.
func (f *rowFrames) welcome(room, session, kind string) (presence, messages []*shared) {
	first := -1
	for i, e := range f.entries {
		if e.Session == session && e.Kind == kind {
			first = i
		}
	}
	if first < 0 {
		return []*shared{newShared(entryMessage(room, lobby.Entry{Kind: kind, Session: session}))}, nil
	}
	for i, e := range f.entries[first:] {
		if e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes {
			messages = append(messages, f.events[first+i])
		} else {
			presence = append(presence, f.events[first+i])
		}
	}
	return presence, messages
}

// receive lets a session enter. If rows behind its join were applied already, and the room does not remember them, the log is read first; the
// session misses the messages of rows that are not there.
func (r *hubRoom) receive(b *batch, j *joining) {
	r.remember(j.rows)
	if !j.read && !r.remembers(j.answer.Room.Pos) {
		r.hub.log.overtaken(j)
		return
	}
	defer j.done()
	r.enter(b, j.session, j.answer, j.kind)
}

// enter makes a session a member and sends it the room of an answer: presence, members, snapshot, and the messages since it joined.
func (r *hubRoom) enter(b *batch, s *attached, a db.LobbyAnswer, kind string) {
	m := &member{room: r, session: s, id: s.ref().ID, from: a.Room.Pos}
	if !contains(a.Room.Members, m.id) {
		return // it left within the same transaction
	}
	row := &rowFrames{}
	if a.Row != nil {
		row = r.framesOf(*a.Row)
	}
	presence, messages := row.welcome(r.id, m.id, kind)
	state, list := r.stateOf(a.Room), r.membersOf(a.Room)
	if m.from < r.pos {
		if !r.ids[m.id] {
			return // it has left since
		}
		messages = append(messages, r.messagesAfter(m.from)...)
		state, list, m.from = r.state, r.members(), r.pos
	}
	if !r.add(m) {
		return
	}
	m.listed = m.from
	s.push(pushEvent, r.id, append(presence, list)...)
	m.show(b, state)
	if len(messages) > 0 {
		s.push(pushEvent, r.id, messages...)
	}
}

// remembers reports whether all rows behind a position, up to the room's, are in the tail.
func (r *hubRoom) remembers(pos int64) bool { return r.pos-pos <= int64(len(r.tail)) }

// remember extends the tail to the front by rows of the log.
func (r *hubRoom) remember(rows []db.LobbyRow) {
	for _, row := range slices.Backward(rows) {
		if row.Pos == r.pos-int64(len(r.tail)) {
			r.tail = slices.Insert(r.tail, 0, newRowFrames(r.id, row))
		}
	}
}

// add makes m the member for its session. It returns false if the connection is gone.
func (r *hubRoom) add(m *member) bool {
	if old := r.local[m.id]; old != nil {
		if old.session == m.session {
			m.policy = old.policy
		}
		r.forget(old)
	}
	if !m.session.add(r.id, m) {
		return false
	}
	r.local[m.id] = m
	return true
}

func contains(members []lobby.Member, session string) bool {
	for _, m := range members {
		if m.Session == session {
			return true
		}
	}
	return false
}

// framesOf returns the frames of a row, which others may have been sent.
func (r *hubRoom) framesOf(row db.LobbyRow) *rowFrames {
	for _, f := range r.tail {
		if f.pos == row.Pos {
			return f
		}
	}
	return newRowFrames(r.id, row)
}

// stateOf returns the state of a snapshot that is not before the room's own.
func (r *hubRoom) stateOf(s *lobby.Snapshot) *stateFrames {
	switch {
	case s.Seq <= r.state.seq:
		return r.state
	case r.ahead == nil || r.ahead.seq != s.Seq:
		r.ahead = newStateFrames(r.id, s.Seq, s.State)
	}
	return r.ahead
}

// messagesAfter returns the messages of the rows behind a position that are still known.
func (r *hubRoom) messagesAfter(pos int64) (messages []*shared) {
	for _, f := range r.tail {
		for i, e := range f.entries {
			if f.pos > pos && (e.Kind == lobby.EntryMessage || e.Kind == lobby.EntryBytes) {
				messages = append(messages, f.events[i])
			}
		}
	}
	return messages
}
