package delivery

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	// maxQueuedRows bounds the rows that a room has not applied; the others are read from the log later.
	maxQueuedRows = 512
	// maxAhead bounds the rows that a room keeps until those before them arrive.
	maxAhead = 256
	// maxTail bounds the rows that a room keeps for members whose join they overtook.
	maxTail = 64
)

// hubRoom is a room with members on connections of this process.
type hubRoom struct {
	hub      *Hub
	lobbyUID uuid.UUID
	feedKey  string // of notifications
	id       string

	mu         sync.Mutex
	queuedJobs []func(*batch)
	queuedRows map[int64]bool // positions of the rows among the jobs
	droppedPos int64          // the last position of the rows that were dropped; 0: none were
	isWorking  bool           // a goroutine runs the jobs
	appliedPos int64          // pos, for other goroutines

	// Only the goroutine that runs the jobs uses what follows.
	pos          int64 // of the last row that was applied
	state        *stateFrames
	aheadState   *stateFrames // the state of an answer from behind pos
	memberIDs    map[string]bool
	lastList     listFrame
	listSentAt   time.Time // when the members were last sent to all
	listDue      bool
	localMembers map[string]*member // by session
	pendingRows  map[int64]rowOffer // rows behind a gap
	tailRows     []*rowFrames       // the last rows up to pos
	lookAgain    map[*member]time.Time
	wakeTimer    *time.Timer
	timerDue     time.Time
	// Another server answers since a failover. It may lack rows that were applied, and have others at their positions:
	// the next snapshot replaces them, whatever its position is.
	mayHaveLostRows bool
}

// batch is what a room does at once.
type batch struct {
	now             time.Time
	presenceChanged bool // the list of members changed
}

// rowOffer is a row, and the room after it where that is known.
type rowOffer struct {
	row      db.LobbyRow
	snapshot *lobby.Snapshot
}

// listFrame is the frame of the members after a row.
type listFrame struct {
	pos   int64
	frame *wire.SharedFrame
}

// newHubRoom returns a room as it is after an answer.
func newHubRoom(h *Hub, a db.LobbyAnswer) *hubRoom {
	r := &hubRoom{
		hub: h, lobbyUID: a.LobbyUID, feedKey: a.LobbyUID.String(), id: a.RoomSnapshot.ID, queuedRows: map[int64]bool{},
		localMembers: map[string]*member{}, pendingRows: map[int64]rowOffer{},
		lookAgain: map[*member]time.Time{},
	}
	r.adoptSnapshot(*a.RoomSnapshot)
	if a.LogRow != nil {
		r.tailRows = []*rowFrames{newRowFrames(r.id, *a.LogRow)}
	}
	r.appliedPos = r.pos
	r.wakeTimer = time.AfterFunc(time.Hour, func() { r.runSoon(func(*batch) {}) })
	r.wakeTimer.Stop()
	return r
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

// runSoon queues a job. The goroutine that runs it ends when there is no other.
func (r *hubRoom) runSoon(job func(*batch)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queueJob(job)
}

func (r *hubRoom) queueJob(job func(*batch)) {
	r.queuedJobs = append(r.queuedJobs, job)
	if !r.isWorking {
		r.isWorking = true
		go r.runJobs()
	}
}

// offerRow queues a row unless it is known.
func (r *hubRoom) offerRow(row db.LobbyRow, after *lobby.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	// Each row comes twice, by the answer and from the log, and of each log page again after a comparison.
	case row.LogPos <= r.appliedPos || r.queuedRows[row.LogPos]:
	case len(r.queuedRows) >= maxQueuedRows:
		r.droppedPos = max(r.droppedPos, row.LogPos)
	default:
		r.queuedRows[row.LogPos] = true
		r.queueJob(func(b *batch) { r.applyInOrder(b, rowOffer{row, after}) })
	}
}

// appliedPosition returns the position of the last row that was applied.
func (r *hubRoom) appliedPosition() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.appliedPos
}

func (r *hubRoom) runJobs() {
	for {
		jobs := r.takeJobs()
		if jobs == nil {
			return
		}
		if r.hub.options.Guard.Do("room", func() error { r.runBatch(jobs); return nil }) != nil {
			r.hub.logReader.requestSnapshot(r) // what the room knows may be wrong
		}
	}
}

// takeJobs returns the queued jobs; nil: there are none, and the goroutine must end. A room without members ends, too.
func (r *hubRoom) takeJobs() []func(*batch) {
	// Only this goroutine changes localMembers, and it runs no job now.
	if len(r.localMembers) == 0 && r.retireIfIdle() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.queuedJobs
	r.queuedJobs, r.isWorking = nil, jobs != nil
	clear(r.queuedRows)
	return jobs
}

func (r *hubRoom) retireIfIdle() bool {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	// Somebody may have entered since: enter queues its job under the lock of the hub, which is held here.
	if len(r.queuedJobs) > 0 {
		return false
	}
	r.isWorking = false
	r.wakeTimer.Stop()
	if r.hub.rooms[r.lobbyUID] == r {
		delete(r.hub.rooms, r.lobbyUID)
		r.hub.options.Feed.Unwatch(r.feedKey)
	}
	return true
}

func (r *hubRoom) runBatch(jobs []func(*batch)) {
	b := &batch{now: time.Now()}
	for _, job := range jobs {
		job(b)
	}
	r.wakeMembers(b)
	r.sendList(b)
	r.setTimer(b)
	// Rows that were dropped or that wait behind a gap exist in the log, and are read from there.
	if target := r.publishPosition(); target > r.pos {
		r.hub.logReader.requestGap(r, target)
	}
}

// publishPosition tells other goroutines how far the room is. It returns the last position that the room has heard of.
func (r *hubRoom) publishPosition() (target int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	target, r.appliedPos, r.droppedPos = r.droppedPos, r.pos, 0
	for pos := range r.pendingRows {
		target = max(target, pos)
	}
	return target
}

// applyInOrder applies a row, and those that wait for it.
func (r *hubRoom) applyInOrder(b *batch, o rowOffer) {
	switch {
	case o.row.LogPos <= r.pos:
		return
	case o.row.LogPos > r.pos+1:
		// Others come from the log, which is read for the gap anyway.
		if len(r.pendingRows) < maxAhead {
			r.pendingRows[o.row.LogPos] = o
		}
		return
	}
	r.applyRow(b, o)
	r.applyPending(b)
}

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
	r.hub.options.Metrics.countRow(o)
	if len(o.row.Patch) > 0 {
		r.state = r.state.stateAfter(o)
	}
	frames := newRowFrames(r.id, o.row)
	// Members first, the count of members afterwards: who leaves with the row is still told so.
	for _, m := range r.localMembers {
		if m.joinPos < r.pos {
			m.deliverRow(b, frames)
		}
	}
	for _, e := range o.row.Entries {
		r.countMember(b, e)
	}
	r.tailRows = append(r.tailRows, frames)
	if len(r.tailRows) > maxTail {
		r.tailRows = slices.Delete(r.tailRows, 0, len(r.tailRows)-maxTail)
	}
}

// countMember keeps the members by the entries of a row, and forgets those that left with it.
func (r *hubRoom) countMember(b *batch, e lobby.Entry) {
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

// forgetMember takes a member out.
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
		m.session.Push(PushEvent, r.id, frame)
	}
}

// endRoom takes all members out of a room that has ended. Those that its last rows did not take out are told so.
func (r *hubRoom) endRoom() {
	for _, m := range r.localMembers {
		m.session.Push(PushEvent, r.id, wire.NewSharedFrame(entryMessage(r.id,
			lobby.Entry{Kind: lobby.EntryLeft, Session: m.sessionID, Reason: "closed"}, 0, 0)))
		r.forgetMember(m)
	}
}

// resetTo sends every member the room as it was read, since rows that the room has not applied cannot be read any more.
func (r *hubRoom) resetTo(b *batch, s lobby.Snapshot) {
	switch {
	case r.mayHaveLostRows:
		r.forgetLostRows(s.LogPosition)
	case s.LogPosition < r.pos: // rows have been applied since it was read
		return
	}
	r.adoptSnapshot(s)
	for _, m := range r.localMembers {
		switch {
		// Its join was answered from a later state than the one that was read.
		case m.joinPos > r.pos:
		case !r.memberIDs[m.sessionID]:
			m.session.Push(PushEvent, r.id,
				wire.NewSharedFrame(entryMessage(r.id, lobby.Entry{Kind: lobby.EntryLeft, Session: m.sessionID}, 0, 0)))
			r.forgetMember(m)
		default:
			m.sendSnapshot(b, r.state)
			m.listPos = r.pos
			m.session.Push(PushEvent, r.id, r.membersFrame()) // after older lists that were held
			r.hub.options.Metrics.countSnapshot("gap")
		}
	}
	r.applyPending(b)
}

// forgetLostRows forgets what depends on rows behind a position.
func (r *hubRoom) forgetLostRows(pos int64) {
	r.mayHaveLostRows, r.aheadState, r.lastList = false, nil, listFrame{}
	clear(r.pendingRows)
	for _, m := range r.localMembers {
		m.joinPos, m.listPos = min(m.joinPos, pos), min(m.listPos, pos)
	}
}

// setTimer has the room work again when the first of its waiting members may go on.
func (r *hubRoom) setTimer(b *batch) {
	first := time.Time{}
	for _, at := range r.lookAgain {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if due := r.listSentAt.Add(r.listInterval()); r.listDue && (first.IsZero() || due.Before(first)) {
		first = due
	}
	// A timer that is set for the same time is left alone: Reset would be called for each batch.
	if !first.IsZero() && (!first.Equal(r.timerDue) || !r.timerDue.After(b.now)) {
		r.timerDue = first
		r.wakeTimer.Reset(max(first.Sub(b.now), time.Millisecond))
	}
}
