package delivery

import (
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// resetTo sends every member the room as it was read, since rows that the room has not applied cannot be read any more.
func (r *hubRoom) resetTo(b *batch, s lobby.Snapshot) {
	switch {
	// The new server's positions count anew from where it has lost rows, so that r.pos says nothing about them.
	case r.mayHaveLostRows:
		r.forgetLostRows(s.LogPosition)
	case s.LogPosition < r.pos: // rows have been applied since it was read
		return
	}
	r.adoptSnapshot(s)
	for _, m := range r.localMembers {
		// The member's join was answered from a later state than the one that was read.
		if m.statePos > r.pos {
			continue
		}
		switch {
		// The member left with a row that is gone, and would otherwise believe that it is a member.
		case !r.memberIDs[m.sessionID]:
			m.session.conn.Push(PushEvent, r.id,
				wire.NewSharedFrame(entryMessage(r.id, lobby.Entry{Kind: lobby.EntryLeft, Session: m.sessionID}, 0, 0)))
			r.forgetMember(m)
		default:
			m.sendSnapshot(b, r.state)
			m.listPos = r.pos
			m.session.conn.Push(PushEvent, r.id, r.membersFrame()) // after older lists that were held
			r.metrics.countSnapshot("gap")
		}
	}
	// Rows after the snapshot may have arrived before it was read.
	r.applyPending(b)
}

// forgetLostRows forgets what depends on rows after a position.
func (r *hubRoom) forgetLostRows(pos int64) {
	r.mayHaveLostRows, r.aheadState, r.lastList = false, nil, listFrame{}
	clear(r.pendingRows)
	// Otherwise rows of the new server up to the old position would count as delivered.
	for _, m := range r.localMembers {
		m.joinPos, m.statePos, m.listPos = min(m.joinPos, pos), min(m.statePos, pos), min(m.listPos, pos)
	}
}

// endRoom takes all members out of a room that has ended. Those that its last rows did not take out are sent room.left.
func (r *hubRoom) endRoom() {
	for _, m := range r.localMembers {
		m.session.conn.Push(PushEvent, r.id, wire.NewSharedFrame(entryMessage(r.id,
			lobby.Entry{Kind: lobby.EntryLeft, Session: m.sessionID, Reason: "closed"}, 0, 0)))
		r.forgetMember(m)
	}
}
