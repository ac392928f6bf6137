package realtime

import (
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/lobby"
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
	hub *hub
	uid uuid.UUID
	key string // of notifications
	id  string

	mu       sync.Mutex
	jobs     []func(*batch)
	queued   map[int64]bool // positions of the rows among the jobs
	overflow int64          // the last position of the rows that were dropped; 0: none were
	working  bool           // a goroutine runs the jobs
	applied  int64          // pos, for other goroutines

	// Only the goroutine that runs the jobs uses what follows.
	pos      int64 // of the last row that was applied
	state    *stateFrames
	ahead    *stateFrames // the state of an answer from behind pos
	ids      map[string]bool
	list     listFrame
	listAt   time.Time // when the members were last sent to all
	listDue  bool
	local    map[string]*member // by session
	pending  map[int64]offer    // rows behind a gap
	tail     []*rowFrames       // the last rows up to pos
	waiting  map[*member]time.Time
	timer    *time.Timer
	timerFor time.Time
}

// batch is what a room does at once.
type batch struct {
	now      time.Time
	presence bool // the list of members changed
}

// offer is a row, and the room after it where that is known.
type offer struct {
	row   db.LobbyRow
	after *lobby.Snapshot
}

// listFrame is the frame of the members after a row.
type listFrame struct {
	pos   int64
	frame *shared
}

// newHubRoom returns a room as it is after an answer.
func newHubRoom(h *hub, a db.LobbyAnswer) *hubRoom {
	r := &hubRoom{
		hub: h, uid: a.Lobby, key: a.Lobby.String(), id: a.Room.ID, queued: map[int64]bool{}, local: map[string]*member{}, pending: map[int64]offer{},
		waiting: map[*member]time.Time{},
	}
	r.adopt(*a.Room)
	if a.Row != nil {
		r.tail = []*rowFrames{newRowFrames(r.id, *a.Row)}
	}
	r.applied = r.pos
	r.timer = time.AfterFunc(time.Hour, func() { r.do(func(*batch) {}) })
	r.timer.Stop()
	return r
}

// adopt replaces all that is known of the room.
func (r *hubRoom) adopt(s lobby.Snapshot) {
	r.pos, r.state, r.tail = s.Pos, newStateFrames(r.id, s.Seq, s.State), nil
	r.ids = make(map[string]bool, len(s.Members))
	for _, m := range s.Members {
		r.ids[m.Session] = true
	}
	maps.DeleteFunc(r.pending, func(pos int64, _ offer) bool { return pos <= r.pos })
}

// do queues a job. The goroutine that runs it ends when there is no other.
func (r *hubRoom) do(job func(*batch)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue(job)
}

func (r *hubRoom) queue(job func(*batch)) {
	r.jobs = append(r.jobs, job)
	if !r.working {
		r.working = true
		go r.work()
	}
}

// offer queues a row unless it is known.
func (r *hubRoom) offer(row db.LobbyRow, after *lobby.Snapshot) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case row.Pos <= r.applied || r.queued[row.Pos]:
	case len(r.queued) >= maxQueuedRows:
		r.overflow = max(r.overflow, row.Pos)
	default:
		r.queued[row.Pos] = true
		r.queue(func(b *batch) { r.row(b, offer{row, after}) })
	}
}

// position returns the position of the last row that was applied.
func (r *hubRoom) position() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.applied
}

func (r *hubRoom) work() {
	for {
		jobs := r.take()
		if jobs == nil {
			return
		}
		if r.hub.Guard.Do("room", func() error { r.runBatch(jobs); return nil }) != nil {
			r.hub.log.unreadable(r) // what the room knows may be wrong
		}
	}
}

// take returns the queued jobs. Without any, the goroutine must end; a room without members ends, too.
func (r *hubRoom) take() []func(*batch) {
	if len(r.local) == 0 && r.retire() {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	jobs := r.jobs
	r.jobs, r.working = nil, jobs != nil
	clear(r.queued)
	return jobs
}

func (r *hubRoom) retire() bool {
	r.hub.mu.Lock()
	defer r.hub.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.jobs) > 0 {
		return false
	}
	r.working = false
	r.timer.Stop()
	if r.hub.rooms[r.uid] == r {
		delete(r.hub.rooms, r.uid)
		r.hub.Feed.Unwatch(r.key)
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
	if target := r.publish(); target > r.pos {
		r.hub.log.behind(r, target)
	}
}

// publish tells other goroutines how far the room is. It returns the last position that the room has heard of.
func (r *hubRoom) publish() (target int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	target, r.applied, r.overflow = r.overflow, r.pos, 0
	for pos := range r.pending {
		target = max(target, pos)
	}
	return target
}

// row applies a row, and those that wait for it.
func (r *hubRoom) row(b *batch, o offer) {
	switch {
	case o.row.Pos <= r.pos:
		return
	case o.row.Pos > r.pos+1:
		if len(r.pending) < maxAhead {
			r.pending[o.row.Pos] = o
		}
		return
	}
	r.apply(b, o)
	r.applyPending(b)
}

func (r *hubRoom) applyPending(b *batch) {
	for {
		next, known := r.pending[r.pos+1]
		if !known {
			return
		}
		delete(r.pending, r.pos+1)
		r.apply(b, next)
	}
}

// apply applies the next row and sends it to the members that have not got it with their join.
func (r *hubRoom) apply(b *batch, o offer) {
	r.pos = o.row.Pos
	r.hub.Metrics.applied(o)
	if len(o.row.Patch) > 0 {
		r.state = r.state.after(o)
	}
	frames := newRowFrames(r.id, o.row)
	for _, m := range r.local {
		if m.from < r.pos {
			m.deliver(b, frames)
		}
	}
	for _, e := range o.row.Entries {
		r.count(b, e)
	}
	r.tail = append(r.tail, frames)
	if len(r.tail) > maxTail {
		r.tail = slices.Delete(r.tail, 0, len(r.tail)-maxTail)
	}
}

// count keeps the members by the entries of a row, and forgets those that left with it.
func (r *hubRoom) count(b *batch, e lobby.Entry) {
	switch e.Kind {
	case lobby.EntryJoined:
		r.ids[e.Session] = true
		b.presence = true
	case lobby.EntryLeft:
		delete(r.ids, e.Session)
		b.presence = true
		if m := r.local[e.Session]; m != nil && m.from < r.pos {
			r.forget(m)
		}
	}
}

// forget takes a member out.
func (r *hubRoom) forget(m *member) {
	if r.local[m.id] == m {
		delete(r.local, m.id)
	}
	delete(r.waiting, m)
	m.session.drop(r.id, m)
}

// send sends a frame to all members here.
func (r *hubRoom) send(frame *shared) {
	for _, m := range r.local {
		m.session.push(pushEvent, r.id, frame)
	}
}

// end takes all members out of a room that has ended. Those that its last rows did not take out are told so.
func (r *hubRoom) end() {
	for _, m := range r.local {
		m.session.push(pushEvent, r.id, newShared(entryMessage(r.id, lobby.Entry{Kind: lobby.EntryLeft, Session: m.id, Reason: "closed"})))
		r.forget(m)
	}
}

// reset sends every member the room as it was read, since rows that the room has not applied cannot be read any more.
func (r *hubRoom) reset(b *batch, s lobby.Snapshot) {
	if s.Pos < r.pos {
		return
	}
	r.adopt(s)
	for _, m := range r.local {
		switch {
		case m.from > r.pos:
		case !r.ids[m.id]:
			m.session.push(pushEvent, r.id, newShared(entryMessage(r.id, lobby.Entry{Kind: lobby.EntryLeft, Session: m.id})))
			r.forget(m)
		default:
			m.show(b, r.state)
			m.listed = r.pos
			m.session.push(pushEvent, r.id, r.members()) // after older lists that were held
			r.hub.Metrics.snapshot("gap")
		}
	}
	r.applyPending(b)
}

// setTimer has the room work again when the first of its waiting members may go on.
func (r *hubRoom) setTimer(b *batch) {
	first := time.Time{}
	for _, at := range r.waiting {
		if first.IsZero() || at.Before(first) {
			first = at
		}
	}
	if due := r.listAt.Add(r.listInterval()); r.listDue && (first.IsZero() || due.Before(first)) {
		first = due
	}
	if !first.IsZero() && (!first.Equal(r.timerFor) || !r.timerFor.After(b.now)) {
		r.timerFor = first
		r.timer.Reset(max(first.Sub(b.now), time.Millisecond))
	}
}
