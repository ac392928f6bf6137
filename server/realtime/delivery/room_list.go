package delivery

import (
	"maps"
	"slices"
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// smallRoom is the number of members up to which all of them get a list of the members after each change. In a larger
// room they get at most one list in a millisecond per member: the lists of n joins at once would otherwise have n²
// names for each of n members.
const smallRoom = 64

// listInterval returns the least time between two lists to all members.
func (r *hubRoom) listInterval() time.Duration {
	if len(r.memberIDs) <= smallRoom {
		return 0
	}
	return time.Duration(len(r.memberIDs)) * time.Millisecond
}

// membersFrame returns the frame of the members after the last row that was applied.
func (r *hubRoom) membersFrame() *wire.SharedFrame {
	if r.lastList.frame == nil || r.lastList.pos != r.pos {
		r.lastList = listFrame{r.pos, wire.NewSharedFrame(membersMessage(r.id, slices.Sorted(maps.Keys(r.memberIDs))))}
	}
	return r.lastList.frame
}

// membersFrameOf returns the frame of the members of a snapshot, whose position may differ from that of the last row
// applied.
func (r *hubRoom) membersFrameOf(s *lobby.Snapshot) *wire.SharedFrame {
	if r.lastList.frame == nil || r.lastList.pos != s.LogPosition {
		ids := make([]string, len(s.Members))
		for i, m := range s.Members {
			ids[i] = m.Session
		}
		slices.Sort(ids)
		r.lastList = listFrame{s.LogPosition, wire.NewSharedFrame(membersMessage(r.id, ids))}
	}
	return r.lastList.frame
}

// sendList sends the members to all members that do not know them, once for all changes of a batch.
func (r *hubRoom) sendList(b *batch) {
	r.listDue = r.listDue || b.presenceChanged
	// What is left out now is sent by the timer of the room.
	if !r.listDue || b.now.Before(r.listSentAt.Add(r.listInterval())) {
		return
	}
	r.listDue, r.listSentAt = false, b.now
	for _, m := range r.localMembers {
		// A session that has just joined got the list with its join.
		if m.listPos < r.pos {
			m.listPos = r.pos
			m.queueFrames(b, r.membersFrame())
		}
	}
}
