package delivery

import (
	"slices"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
)

const (
	// maxAhead bounds the rows that a room keeps until those before them arrive.
	maxAhead = 256
	// maxTail bounds the rows that a room keeps for members whose join they overtook.
	maxTail = 64
)

// offerRow queues a row unless it is known. after is the room after it, nil where that is not known.
func (r *hubRoom) offerRow(row db.LobbyRow, after *lobby.Snapshot) {
	r.inbox.offerRow(row.LogPos, func(b *batch) { r.applyInOrder(b, rowOffer{row, after}) })
}

// applyInOrder applies a row, and those that wait for it.
func (r *hubRoom) applyInOrder(b *batch, o rowOffer) {
	switch {
	case o.row.LogPos <= r.pos:
		return
	case o.row.LogPos > r.pos+1:
		// Those beyond the bound come from the log, which is read for the gap anyway.
		if len(r.pendingRows) < maxAhead {
			r.pendingRows[o.row.LogPos] = o
		}
		return
	}
	r.applyRow(b, o)
	r.applyPending(b)
}

// applyPending applies the rows that waited for the one before them.
func (r *hubRoom) applyPending(b *batch) {
	for {
		next, known := r.pendingRows[r.pos+1]
		if !known {
			return
		}
		delete(r.pendingRows, r.pos+1)
		r.applyRow(b, next)
	}
}

// applyRow applies the next row and sends it to the members that have not got it with their join.
func (r *hubRoom) applyRow(b *batch, o rowOffer) {
	r.pos = o.row.LogPos
	r.metrics.countRow(o)
	// A row without a patch, such as a message, keeps the frames that were made of the state.
	if len(o.row.Patch) > 0 {
		r.state = r.state.stateAfter(o)
	}
	frames := newRowFrames(r.id, o.row)
	// Before the entries are applied: a session that leaves with the row is still sent why.
	for _, m := range r.localMembers {
		// A member that joined after this row has its effect in its snapshot already.
		if m.joinPos < r.pos {
			m.deliverRow(b, frames)
		}
	}
	for _, e := range o.row.Entries {
		r.applyEntry(b, e)
	}
	r.tailRows = append(r.tailRows, frames)
	if len(r.tailRows) > maxTail {
		r.tailRows = slices.Delete(r.tailRows, 0, len(r.tailRows)-maxTail)
	}
}

// applyEntry adds the member that an entry says has joined, or removes the one that has left.
func (r *hubRoom) applyEntry(b *batch, e lobby.Entry) {
	switch e.Kind {
	case lobby.EntryJoined:
		r.memberIDs[e.Session] = true
		b.presenceChanged = true
	case lobby.EntryLeft:
		delete(r.memberIDs, e.Session)
		b.presenceChanged = true
		// A session that has joined again since is a member by a later row.
		if m := r.localMembers[e.Session]; m != nil && m.joinPos < r.pos {
			r.forgetMember(m)
		}
	}
}
