package delivery

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// behindPause is how long a member waits for the room to catch up with what it has seen.
const behindPause = 50 * time.Millisecond

// maxAcks bounds the acks of a member that its room has not looked at.
const maxAcks = 16

// member is a session with its connection here, in a room. Fields that are neither atomic nor guarded by mu are used
// by the room's goroutine only.
type member struct {
	room           *hubRoom
	session        *session
	sessionID      string
	joinPos        int64          // it was sent everything up to this position with its join
	statePos       int64          // the position of the latest state with which a join of it was answered
	listPos        int64          // the position of the last list of members that it was sent
	sentSeq        int64          // of the state that it was sent
	snapshotPolicy snapshotPolicy // what it may be sent when
	lastSnapshot   struct {       // the snapshot that it was sent last
		seq  int64
		sum  string
		kind lobby.ChecksumKind
	}

	heldFrames  []heldFrame // a patch that waits at the gate, and all that follows it
	heldPatches int         // among heldFrames
	lacksPatch  bool        // a patch is missing: no patch may go out before a snapshot
	snapshotDue bool        // a snapshot is to go out

	resyncAsked    atomic.Bool // the client asked for a snapshot
	patchesDropped atomic.Bool // its outbox dropped patches
	answerQueued   atomic.Bool // a job that looks at both is queued

	mu         sync.Mutex // guards the field below
	queuedAcks []clientAck
}

// heldFrame is a patch, or another frame if seq is 0.
type heldFrame struct {
	seq   int64
	frame *wire.SharedFrame
}

type clientAck struct {
	seq      float64
	checksum string
}

// deliverRow sends the frames of a row.
func (m *member) deliverRow(b *batch, row *rowFrames) {
	// Of the row with which it leaves, the session is sent only why it left, and nothing that was for the members.
	if left, reason := row.findLeaver(m.sessionID); left {
		if reason != nil {
			m.queueFrames(b, reason)
		}
		return
	}
	// A patch after one that is missing cannot be applied: a snapshot follows in its place.
	if row.patch != nil && row.seq > m.sentSeq && !m.lacksPatch {
		m.heldFrames = append(m.heldFrames, heldFrame{row.seq, row.patch})
		m.heldPatches++
	}
	m.queueFrames(b, row.entryFrames...)
}

// queueFrames sends frames, after those that are held.
func (m *member) queueFrames(b *batch, frames ...*wire.SharedFrame) {
	// Nothing waits, so the frames of a row go out as one entry of the outbox.
	if len(m.heldFrames) == 0 && len(frames) > 0 {
		m.session.conn.Push(PushEvent, m.room.id, frames...)
		return
	}
	for _, frame := range frames {
		m.heldFrames = append(m.heldFrames, heldFrame{0, frame})
	}
	m.flushHeld(b)
}

// flushHeld sends what is held, as far as the gate lets it pass, or a snapshot that is due.
func (m *member) flushHeld(b *batch) {
	// A busy room can have so many while the gate is closed: one snapshot replaces them.
	if m.heldPatches > maxHeld {
		m.dropPatches()
		m.lacksPatch, m.snapshotDue = true, true
		m.room.metrics.countSnapshot("held")
	}
	open, opens := m.snapshotPolicy.isOpen(b.now)
	if m.snapshotDue {
		m.sendSnapshotAt(b, opens)
		return
	}
	for len(m.heldFrames) > 0 {
		n := m.countSendable(open)
		if n == 0 {
			m.lookAgainAt(opens)
			return
		}
		m.pushHeld(m.heldFrames[:n])
		m.heldFrames = slices.Delete(m.heldFrames, 0, n)
	}
}

// sendSnapshotAt sends a snapshot, but not before a time, and not before the room has all rows that the member has
// seen. What is held waits for the snapshot.
func (m *member) sendSnapshotAt(b *batch, opens time.Time) {
	// A join was answered from a later state than the room has reached here: a snapshot now would go back in time.
	if m.room.pos < m.statePos && opens.Before(b.now.Add(behindPause)) {
		opens = b.now.Add(behindPause)
	}
	if opens.After(b.now) {
		m.lookAgainAt(opens)
		return
	}
	m.sendSnapshot(b, m.room.state)
}

// countSendable returns how many of the held frames can go out in one push: a patch by itself, or all other frames
// before the next patch.
func (m *member) countSendable(open bool) int {
	if m.heldFrames[0].seq > 0 {
		if open {
			return 1
		}
		return 0
	}
	n := slices.IndexFunc(m.heldFrames, func(f heldFrame) bool { return f.seq > 0 })
	if n < 0 {
		return len(m.heldFrames)
	}
	return n
}

// pushHeld pushes what countSendable has found.
func (m *member) pushHeld(held []heldFrame) {
	// By itself, so that the outbox can drop it without the messages beside it.
	if held[0].seq > 0 {
		m.sentSeq = held[0].seq
		m.heldPatches--
		m.session.conn.Push(PushPatch, m.room.id, held[0].frame)
		return
	}
	frames := make([]*wire.SharedFrame, len(held))
	for i, f := range held {
		frames[i] = f.frame
	}
	m.session.conn.Push(PushEvent, m.room.id, frames...)
}

// sentChecksum returns the checksum of the state that the member was sent last.
func (m *member) sentChecksum() (string, lobby.ChecksumKind) {
	switch m.sentSeq {
	case m.room.state.seq:
		return m.room.state.checksum()
	case m.lastSnapshot.seq:
		return m.lastSnapshot.sum, m.lastSnapshot.kind
	}
	return "", lobby.ChecksumNone
}

// dropPatches drops the patches that wait, which a snapshot covers.
func (m *member) dropPatches() {
	m.heldFrames = slices.DeleteFunc(m.heldFrames, func(f heldFrame) bool { return f.seq > 0 })
	m.heldPatches = 0
}

// lookAgainAt has the room look at the member again at a time.
func (m *member) lookAgainAt(due time.Time) {
	if at, waits := m.room.lookAgain[m]; !waits || due.Before(at) {
		m.room.lookAgain[m] = due
	}
}

// sendSnapshot sends a state. What is held goes out after it, without the patches.
func (m *member) sendSnapshot(b *batch, s *stateFrames) {
	sum, kind := s.checksum()
	frame := s.snapshotFrame(m.snapshotPolicy.noteSnapshot(b.now, s.seq, kind))
	m.session.conn.Push(PushSnapshot, m.room.id, frame)
	m.sentSeq, m.lacksPatch, m.snapshotDue = s.seq, false, false
	m.lastSnapshot.seq, m.lastSnapshot.sum, m.lastSnapshot.kind = s.seq, sum, kind
	m.dropPatches()
	if len(m.heldFrames) > 0 {
		m.pushHeld(m.heldFrames)
		m.heldFrames = nil
	}
}

// requestResync asks for a snapshot on behalf of the client.
func (m *member) requestResync() {
	m.resyncAsked.Store(true)
	m.queueAnswer()
}

// replaceDropped asks for a snapshot in place of the patches that the outbox has dropped.
func (m *member) replaceDropped() {
	m.patchesDropped.Store(true)
	m.queueAnswer()
}

// queueAnswer queues the job that answers requests for snapshots.
func (m *member) queueAnswer() {
	// One job at a time: a client that asks without end queues no more of them.
	if m.answerQueued.CompareAndSwap(false, true) {
		m.room.inbox.runSoon(m.answerRequests)
	}
}

// answerRequests sends the snapshot that the client or its outbox has asked for, once for both.
func (m *member) answerRequests(b *batch) {
	// First: what is asked for from now on queues another job, so that no request is lost between the two.
	m.answerQueued.Store(false)
	if m.patchesDropped.Swap(false) {
		m.lacksPatch = true
		m.room.metrics.countSnapshot("overflow")
	}
	if m.resyncAsked.Swap(false) {
		m.snapshotPolicy.noteResync()
		m.room.metrics.countSnapshot("resync")
	}
	// The member may have left while the job was queued.
	if m.isInRoom() {
		m.snapshotDue = true
		m.flushHeld(b)
	}
}

// isInRoom reports whether the room has not forgotten the member.
func (m *member) isInRoom() bool { return m.room.localMembers[m.sessionID] == m }

// addAck takes an ack. If there are many, the oldest is dropped.
func (m *member) addAck(seq float64, checksum string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queuedAcks) == maxAcks {
		m.queuedAcks = slices.Delete(m.queuedAcks, 0, 1)
	}
	m.queuedAcks = append(m.queuedAcks, clientAck{seq, checksum})
	// The acks before this one have queued a job that takes all of them.
	if len(m.queuedAcks) == 1 {
		m.room.inbox.runSoon(m.takeAcks)
	}
}

func (m *member) takeAcks(b *batch) {
	m.mu.Lock()
	acks := m.queuedAcks
	m.queuedAcks = nil
	m.mu.Unlock()
	if !m.isInRoom() {
		return
	}
	for _, ack := range acks {
		again := m.snapshotPolicy.takeAck(b.now, ack.seq, ack.checksum, m.sentSeq, m.sentChecksum)
		if again {
			m.snapshotDue = true
			m.room.metrics.countSnapshot("ack")
		}
	}
	m.flushHeld(b)
}
