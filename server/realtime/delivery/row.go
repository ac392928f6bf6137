package delivery

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// rowFrames are the frames of a row of a room's log.
type rowFrames struct {
	pos, seq    int64
	patch       *wire.SharedFrame // nil: the row does not change the state
	entries     []lobby.Entry
	entryFrames []*wire.SharedFrame // of the entries
	leavers     map[string]int      // index of the entry by session; nil: nobody leaves with the row
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

// findLeaver reports whether a session leaves with the row. reason is the frame with the reason, nil if it left by
// itself.
func (f *rowFrames) findLeaver(session string) (left bool, reason *wire.SharedFrame) {
	i, left := f.leavers[session]
	if left && f.entries[i].Reason != "" {
		reason = f.entryFrames[i]
	}
	return left, reason
}

// welcomeFrames returns the frames of the row for a session that joined or came back with it: its own entry and the
// presence of others after it, and then the messages. Without an entry of the session, which was a member already, it
// makes one.
func (f *rowFrames) welcomeFrames(room, session, kind string) (presence, messages []*wire.SharedFrame) {
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

// rowOffer is a row, and the room after it where that is known.
type rowOffer struct {
	row      db.LobbyRow
	snapshot *lobby.Snapshot
}
