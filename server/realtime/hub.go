package realtime

import (
	"context"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/lobby"
)

// delivered is the part of db.Store from which a hub learns what its members are sent.
type delivered interface {
	LobbyLog(ctx context.Context, region string, after []db.LobbyPos) (page []db.LobbyRow, more bool, err error)
	LobbyPositions(ctx context.Context, region string, lobbies []uuid.UUID) (map[uuid.UUID]int64, error)
	LobbySnapshots(ctx context.Context, region string, lobbies []uuid.UUID) ([]db.LobbySnapshot, error)
	RealtimeNews(ctx context.Context, region string, replica uuid.UUID, sessions []db.SessionEpoch) ([]db.RealtimeNews, error)
}

// notices is a db.RealtimeFeed.
type notices interface {
	Watch(key string)
	Unwatch(key string)
	Wake() <-chan struct{}
	Take() (keys []string, all bool)
	Stop()
}

// hubOptions configure a hub. Only Metrics may be absent.
type hubOptions struct {
	Store   delivered
	Feed    notices // The hub stops it.
	Region  string
	Replica func() uuid.UUID // the current id of this replica in the region; uuid.Nil while it has none
	Log     *slog.Logger
	Guard   *panics.Guard
	Metrics *hubMetrics // nil: none
}

// hub delivers to the connections of this process what happens in the rooms of one region.
//
// A room with members here has a [hubRoom], whose position and state follow the log of the room in the database. A change that was made through
// this process arrives with the answer to its caller, any other from the log, after a notification; all are applied in the order of their
// positions. Each room does its work in a goroutine of its own, one batch after the other, and none of it waits: not for sockets, whose outboxes
// are bounded, and not for the database, which only [hub.run] reads.
//
// The methods do not block and are safe for concurrent use.
type hub struct {
	hubOptions

	log     reader
	news    newsReader
	trouble *outage.Log

	mu       sync.RWMutex
	sessions map[string]*attached // by id
	rooms    map[uuid.UUID]*hubRoom
}

// attached is a session whose connection is here.
type attached struct {
	receiver

	mu      sync.Mutex
	members map[string]*member // by the room's id
	told    map[uuid.UUID]bool // the rooms of the invitations that it was sent
	queue   queueNews
}

// newHub returns a hub. Its run must be called, and ends the subscription to notifications.
func newHub(o hubOptions) *hub {
	h := &hub{
		hubOptions: o, trouble: outage.New(o.Log), sessions: map[string]*attached{}, rooms: map[uuid.UUID]*hubRoom{},
	}
	h.log.init(h)
	h.news.init(h)
	return h
}

// run reads what other processes have done, until ctx ends.
func (h *hub) run(ctx context.Context) {
	defer h.Feed.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { h.log.run(ctx) })
	running.Go(func() { h.news.run(ctx) })
}

// attach makes a connection the receiver of its session, and sends it the rooms and the invitations of a resumed session. An older connection
// of the session is closed. Call it when handshake.ok is in the outbox.
func (h *hub) attach(c receiver, opened db.OpenedRealtime) {
	s := &attached{receiver: c, members: map[string]*member{}, told: map[uuid.UUID]bool{}}
	old, current := h.register(s)
	if !current {
		c.close(closeSuperseded, reasonSuperseded)
		return
	}
	if old != nil {
		h.release(old)
		old.close(closeSuperseded, reasonSuperseded)
	}
	if !opened.Resumed {
		return
	}
	h.news.ask(c.ref().ID) // for what happened before Watch
	invite := after(len(opened.Rooms), func() { s.inviteAlso(opened.Invitations) })
	for _, a := range opened.Rooms {
		h.enter(&joining{session: s, answer: a, kind: lobby.EntryReconnected, done: invite})
	}
}

// register returns the connection that s replaces, if any. It is not current if the session has a connection with a later epoch.
func (h *hub) register(s *attached) (old *attached, current bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old = h.sessions[s.ref().ID]
	if old != nil && old.ref().Epoch > s.ref().Epoch {
		return nil, false
	}
	h.sessions[s.ref().ID] = s
	h.Feed.Watch(s.ref().ID)
	return old, true
}

// after returns a function that calls do with its call number n, or do itself was called if n is 0.
func after(n int, do func()) (one func()) {
	if n == 0 {
		do()
		return func() {}
	}
	var mu sync.Mutex
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if n--; n == 0 {
			do()
		}
	}
}

// detach forgets a connection that is closed.
func (h *hub) detach(c receiver) {
	s := h.session(c)
	if s == nil {
		return
	}
	h.mu.Lock()
	if h.sessions[c.ref().ID] == s {
		delete(h.sessions, c.ref().ID)
		h.Feed.Unwatch(c.ref().ID)
	}
	h.mu.Unlock()
	h.release(s)
}

// release takes a connection out of its rooms.
func (h *hub) release(s *attached) {
	s.mu.Lock()
	members := s.members
	s.members = nil // from now on it enters no room
	s.mu.Unlock()
	for _, m := range members {
		m.room.do(func(*batch) { m.room.forget(m) })
	}
}

// session returns the session of a connection, nil if it is not attached any more.
func (h *hub) session(c receiver) *attached {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.sessions[c.ref().ID]; s != nil && s.receiver == c {
		return s
	}
	return nil
}

// member returns the member that a connection is in a room, or nil.
func (h *hub) memberIn(c receiver, room string) *member {
	s := h.session(c)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.members[room]
}

// joined makes a connection a member of a room and sends it the room. Call it with the answer to each join, when the rpc.response is in the
// outbox.
func (h *hub) joined(c receiver, a db.LobbyAnswer) {
	if s := h.session(c); s != nil {
		h.enter(&joining{session: s, answer: a, kind: lobby.EntryJoined, done: func() {}})
	}
}

// joining is a session that becomes a member of the room of an answer.
type joining struct {
	session *attached
	answer  db.LobbyAnswer
	kind    string // of its entry
	done    func() // called when the session was sent the room, or is not

	rows []db.LobbyRow // behind the answer, from the log
	read bool          // the log was read
}

// enter makes a session a member.
func (h *hub) enter(j *joining) {
	a := j.answer
	if a.Room == nil || a.Closed {
		j.done()
		return
	}
	h.mu.Lock()
	r, known := h.rooms[a.Lobby]
	if !known {
		r = newHubRoom(h, a)
		h.rooms[a.Lobby] = r
		h.Feed.Watch(r.key)
	}
	r.do(func(b *batch) { r.receive(b, j) })
	h.mu.Unlock()
	if !known {
		h.log.woken(r) // for what happened before Watch
	}
	h.answered(a)
}

// answered delivers what an action of this process did. Call it with each answer, when the rpc.response is in the outbox.
func (h *hub) answered(a db.LobbyAnswer) {
	h.mu.RLock()
	r := h.rooms[a.Lobby]
	h.mu.RUnlock()
	if r == nil {
		return
	}
	if a.Row != nil {
		r.offer(*a.Row, a.Room)
	}
	if a.Closed {
		r.do(func(*batch) { r.end() })
	}
}

// left takes a connection out of a room that it has left, at once, and delivers the answer to the others.
func (h *hub) left(c receiver, a db.LobbyAnswer) {
	if a.Room != nil {
		if m := h.memberIn(c, a.Room.ID); m != nil && m.room.uid == a.Lobby {
			m.room.do(func(*batch) {
				if m.from < a.Room.Pos { // otherwise it has joined again since
					m.room.forget(m)
				}
			})
		}
	}
	h.answered(a)
}

// ack takes a client's state.ack. checksum is "" if it has none.
func (h *hub) ack(c receiver, room string, seq float64, checksum string) {
	if m := h.memberIn(c, room); m != nil {
		m.acked(seq, checksum)
	}
}

// resync sends a client the state of a room. It returns false if the client is no member.
func (h *hub) resync(c receiver, room string) bool {
	m := h.memberIn(c, room)
	if m != nil {
		m.wantsSnapshot(true)
	}
	return m != nil
}

// starved sends a snapshot of a room whose patches the outbox has dropped. Call it when half of the outbox is free again.
func (h *hub) starved(c receiver, room string) {
	if m := h.memberIn(c, room); m != nil {
		m.wantsSnapshot(false)
	}
}

// relay sends a frame to the members of a room that are connected to this process. It returns false if the sender is none.
func (h *hub) relay(c receiver, room string, frame *shared) bool {
	m := h.memberIn(c, room)
	if m != nil {
		m.room.do(func(*batch) { m.room.send(frame) })
	}
	return m != nil
}
