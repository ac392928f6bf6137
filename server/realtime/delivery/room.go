package delivery

import (
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// hubRoom is a room with members on connections of this process. Only the goroutine that runs the jobs of its inbox
// uses it: it has no lock of its own.
type hubRoom struct {
	lobbyUID uuid.UUID
	feedKey  string // of notifications
	id       string
	inbox    roomInbox
	requests *logRequests // where it asks for the rows that it lacks
	metrics  *HubMetrics  // nil: none

	pos          int64 // of the last row that was applied
	state        *stateFrames
	aheadState   *stateFrames // the state of an answer from after pos; nil: none
	memberIDs    map[string]bool
	lastList     listFrame
	listSentAt   time.Time          // when the members were last sent to all
	listDue      bool               // a change of the members was not sent to all yet
	localMembers map[string]*member // by session
	// By session: joins that wait for an earlier one, for which the log is read.
	joinsBehind map[*session][]*joining
	pendingRows map[int64]rowOffer    // rows after a gap, by position
	tailRows    []*rowFrames          // the last rows up to pos
	lookAgain   map[*member]time.Time // when to look at a member that waits
	wakeTimer   *time.Timer           // runs an empty batch, for what waits
	timerDue    time.Time             // for when wakeTimer was set last
	// Another server answers since a failover. It may lack rows that were applied, and have others at their positions:
	// the next snapshot replaces them, whatever its position is.
	mayHaveLostRows bool
}

// listFrame is the frame of the members after a row.
type listFrame struct {
	pos   int64
	frame *wire.SharedFrame
}

// adoptSnapshot replaces all that is known of the room.
func (r *hubRoom) adoptSnapshot(s lobby.Snapshot) {
	r.pos, r.state, r.tailRows = s.LogPosition, newStateFrames(r.id, s.StateSeq, s.State), nil
	r.memberIDs = make(map[string]bool, len(s.Members))
	for _, m := range s.Members {
		r.memberIDs[m.Session] = true
	}
	maps.DeleteFunc(r.pendingRows, func(pos int64, _ rowOffer) bool { return pos <= r.pos })
}

// forgetMember takes a member out of the room and out of its session.
func (r *hubRoom) forgetMember(m *member) {
	if r.localMembers[m.sessionID] == m {
		delete(r.localMembers, m.sessionID)
	}
	delete(r.lookAgain, m)
	m.session.dropMember(r.id, m)
}

// sendToAll sends a frame to all members here.
func (r *hubRoom) sendToAll(frame *wire.SharedFrame) {
	for _, m := range r.localMembers {
		m.session.conn.Push(PushEvent, r.id, frame)
	}
}
