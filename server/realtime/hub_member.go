package realtime

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lattice-director/director/lobby"
)

// behindPause is how long a member waits for the room to catch up with what it has seen.
const behindPause = 50 * time.Millisecond

// maxAcks bounds the acks of a member that its room has not looked at.
const maxAcks = 16

// member is a session with its connection here, in a room. What has no lock beside it is used by the room's goroutine only.
type member struct {
	room    *hubRoom
	session *attached
	id      string
	from    int64    // its join told it everything up to this position
	listed  int64    // the position of the last list of members that it was sent
	seq     int64    // of the state that it was sent
	policy  follower // what it may be sent when
	shown   struct { // the snapshot that it was sent last
		seq  int64
		sum  string
		kind lobby.ChecksumKind
	}

	held    []heldFrame // a patch that waits at the gate, and all that follows it
	patches int         // among held
	broken  bool        // a patch is missing: no patch may go out before a snapshot
	due     bool        // a snapshot is to go out

	resyncs atomic.Bool // the client asked for a snapshot
	drops   atomic.Bool // its outbox dropped patches
	asked   atomic.Bool // a job looks at them

	mu   sync.Mutex
	acks []clientAck
}

// heldFrame is a patch, or another frame if seq is 0.
type heldFrame struct {
	seq   int64
	frame *shared
}

type clientAck struct {
	seq      float64
	checksum string
}

// add records that a session is in a room. It returns false if its connection is gone.
func (s *attached) add(room string, m *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members == nil {
		return false
	}
	s.members[room] = m
	return true
}

// drop records that a session is no longer in a room.
func (s *attached) drop(room string, m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.members[room] == m {
		delete(s.members, room)
	}
}

// deliver sends the frames of a row.
func (m *member) deliver(b *batch, row *rowFrames) {
	if left, reason := row.leaves(m.id); left {
		if reason != nil {
			m.queue(b, reason)
		}
		return
	}
	if row.patch != nil && row.seq > m.seq && !m.broken {
		m.held = append(m.held, heldFrame{row.seq, row.patch})
		m.patches++
	}
	m.queue(b, row.events...)
}

// queue sends frames, behind those that are held.
func (m *member) queue(b *batch, frames ...*shared) {
	if len(m.held) == 0 && len(frames) > 0 {
		m.session.push(pushEvent, m.room.id, frames...)
		return
	}
	for _, frame := range frames {
		m.held = append(m.held, heldFrame{0, frame})
	}
	m.flush(b)
}

// flush sends what is held, as far as the gate lets it pass, or a snapshot that is due.
func (m *member) flush(b *batch) {
	if m.patches > maxHeld {
		m.dropPatches()
		m.broken, m.due = true, true
		m.room.hub.Metrics.snapshot("held")
	}
	open, opens := m.policy.open(b.now)
	if m.due {
		m.showWhen(b, opens)
		return
	}
	for len(m.held) > 0 {
		n := m.leading(open)
		if n == 0 {
			m.wait(opens)
			return
		}
		m.pushHeld(m.held[:n])
		m.held = slices.Delete(m.held, 0, n)
	}
}

// showWhen sends a snapshot from a time on, as soon as the room knows all that the member has seen. What is held needs no snapshot first, but for
// patches.
func (m *member) showWhen(b *batch, opens time.Time) {
	if m.room.pos < m.from && opens.Before(b.now.Add(behindPause)) {
		opens = b.now.Add(behindPause)
	}
	if opens.After(b.now) {
		m.wait(opens)
		return
	}
	m.show(b, m.room.state)
}

// leading returns how many of the held frames can go out in one push: a patch by itself, or all other frames before the next patch.
func (m *member) leading(open bool) int {
	if m.held[0].seq > 0 {
		if open {
			return 1
		}
		return 0
	}
	n := slices.IndexFunc(m.held, func(f heldFrame) bool { return f.seq > 0 })
	if n < 0 {
		return len(m.held)
	}
	return n
}

func (m *member) pushHeld(held []heldFrame) {
	if held[0].seq > 0 {
		m.seq = held[0].seq
		m.patches--
		m.session.push(pushPatch, m.room.id, held[0].frame)
		return
	}
	frames := make([]*shared, len(held))
	for i, f := range held {
		frames[i] = f.frame
	}
	m.session.push(pushEvent, m.room.id, frames...)
}

// checksum returns the checksum of the state that the member was sent last.
func (m *member) checksum() (string, lobby.ChecksumKind) {
	switch m.seq {
	case m.room.state.seq:
		return m.room.state.checksum()
	case m.shown.seq:
		return m.shown.sum, m.shown.kind
	}
	return "", lobby.ChecksumNone
}

func (m *member) dropPatches() {
	m.held = slices.DeleteFunc(m.held, func(f heldFrame) bool { return f.seq > 0 })
	m.patches = 0
}

// wait has the room look at the member again at a time.
func (m *member) wait(until time.Time) {
	if at, waits := m.room.waiting[m]; !waits || until.Before(at) {
		m.room.waiting[m] = until
	}
}

// wakeMembers looks at the members whose time has come.
func (r *hubRoom) wakeMembers(b *batch) {
	for m, at := range r.waiting {
		if !at.After(b.now) {
			delete(r.waiting, m)
			m.flush(b)
		}
	}
}

// show sends a state. What is held goes out behind it, without the patches.
func (m *member) show(b *batch, s *stateFrames) {
	sum, kind := s.checksum()
	frame := s.frame(m.policy.snapshot(b.now, s.seq, kind))
	m.session.push(pushSnapshot, m.room.id, frame)
	m.seq, m.broken, m.due = s.seq, false, false
	m.shown.seq, m.shown.sum, m.shown.kind = s.seq, sum, kind
	m.dropPatches()
	if len(m.held) > 0 {
		m.pushHeld(m.held)
		m.held = nil
	}
}

// wantsSnapshot asks for a snapshot. resync: the client wants it, otherwise its outbox.
func (m *member) wantsSnapshot(resync bool) {
	if resync {
		m.resyncs.Store(true)
	} else {
		m.drops.Store(true)
	}
	if m.asked.CompareAndSwap(false, true) {
		m.room.do(m.answerWish)
	}
}

func (m *member) answerWish(b *batch) {
	m.asked.Store(false)
	if m.drops.Swap(false) {
		m.broken = true
		m.room.hub.Metrics.snapshot("overflow")
	}
	if m.resyncs.Swap(false) {
		m.policy.resync()
		m.room.hub.Metrics.snapshot("resync")
	}
	if m.here() {
		m.due = true
		m.flush(b)
	}
}

// here reports whether the room has not forgotten the member.
func (m *member) here() bool { return m.room.local[m.id] == m }

// acked takes an ack. If there are many, the oldest is dropped.
func (m *member) acked(seq float64, checksum string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.acks) == maxAcks {
		m.acks = slices.Delete(m.acks, 0, 1)
	}
	m.acks = append(m.acks, clientAck{seq, checksum})
	if len(m.acks) == 1 {
		m.room.do(m.takeAcks)
	}
}

func (m *member) takeAcks(b *batch) {
	m.mu.Lock()
	acks := m.acks
	m.acks = nil
	m.mu.Unlock()
	if !m.here() {
		return
	}
	for _, ack := range acks {
		if m.policy.ack(b.now, ack.seq, ack.checksum, m.seq, m.checksum) {
			m.due = true
			m.room.hub.Metrics.snapshot("ack")
		}
	}
	m.flush(b)
}
