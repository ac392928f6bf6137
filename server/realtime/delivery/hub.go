package delivery

import (
	"context"
	"log/slog"
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

// delivered is the part of db.Store from which a hub learns what its members are sent.
type delivered interface {
	LobbyLog(ctx context.Context, region string, after []db.LobbyPos) (page []db.LobbyRow, more bool, err error)
	LobbyPositions(ctx context.Context, region string, lobbies []uuid.UUID) (db.LobbyPositions, error)
	LobbySnapshots(ctx context.Context, region string, lobbies []uuid.UUID) ([]db.LobbySnapshot, error)
	RealtimeNews(ctx context.Context, region string, replica uuid.UUID,
		sessions []db.SessionEpoch) ([]db.RealtimeNews, error)
	PlayerMessages(ctx context.Context, region, session string, after int64, unread bool) ([]db.PlayerMessage, error)
}

// notices is a db.RealtimeFeed.
type notices interface {
	Watch(key string)
	Unwatch(key string)
	Wake() <-chan struct{}
	Take() (keys []string, all bool)
	Stop()
}

// HubOptions configure a hub. Only Metrics may be absent.
type HubOptions struct {
	Store   delivered
	Feed    notices // The hub stops it.
	Region  string
	Replica func() uuid.UUID // the current id of this replica in the region; uuid.Nil while it has none
	Log     *slog.Logger
	Guard   *panics.Guard
	Metrics *HubMetrics // nil: none
}

// Hub delivers to the connections of this process what happens in the rooms of one region.
//
// A room with members here has a [hubRoom], whose position and state follow the log of the room in the database. A
// change that was made through this process arrives with the answer to its caller, any other from the log, after a
// notification; all are applied in the order of their positions. Each room does its work in a goroutine of its own, one
// batch after the other, and none of it waits: not for sockets, whose outboxes are bounded, and not for the database,
// which only [Hub.Run] reads.
//
// The methods do not block and are safe for concurrent use.
type Hub struct {
	options HubOptions

	logReader  logReader
	newsReader newsReader
	outageLog  *outage.Log

	mu       sync.RWMutex
	sessions map[string]*session // by id
	rooms    map[uuid.UUID]*hubRoom
}

// session is a session whose connection is here.
type session struct {
	Receiver

	mu              sync.Mutex
	membersByRoom   map[string]*member // by the room's id
	sentInvitations map[uuid.UUID]bool // the rooms of the invitations that it was sent
	queueNews       queueNews
	lastMessage     int64 // the number of the last message to its player that it was sent
}

// NewHub returns a hub. Its run must be called, and ends the subscription to notifications.
func NewHub(o HubOptions) *Hub {
	h := &Hub{
		options: o, outageLog: outage.New(o.Log), sessions: map[string]*session{}, rooms: map[uuid.UUID]*hubRoom{},
	}
	h.logReader.init(h)
	h.newsReader.init(h)
	return h
}

// Run reads what other processes have done, until ctx ends.
func (h *Hub) Run(ctx context.Context) {
	defer h.options.Feed.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() { h.logReader.followLog(ctx) })
	running.Go(func() { h.newsReader.followNews(ctx) })
}

// AttachConn makes a connection the Receiver of its session, and sends it its invitations and the rooms of a resumed
// session. An older connection of the session is closed. Call it when handshake.ok is in the outbox.
func (h *Hub) AttachConn(c Receiver, opened db.OpenedRealtime) {
	s := &session{Receiver: c, membersByRoom: map[string]*member{}, sentInvitations: map[uuid.UUID]bool{}}
	old, current := h.registerSession(s)
	// Two handshakes of one session raced, and the later epoch was attached first.
	if !current {
		c.Close(CloseSuperseded, ReasonSuperseded)
		return
	}
	if old != nil {
		h.leaveRooms(old)
		old.Close(CloseSuperseded, ReasonSuperseded)
	}
	h.newsReader.askFor(c.Ref().ID) // for what happened before Watch, and messages to the player
	if !opened.IsResumed {
		s.addInvitations(opened.Invitations)
		return
	}
	// Invitations come behind all rooms that the session already has.
	invite := countDownFrom(len(opened.RoomAnswers), func() { s.addInvitations(opened.Invitations) })
	rooms := make([]*joining, len(opened.RoomAnswers))
	for i, a := range opened.RoomAnswers {
		rooms[i] = &joining{session: s, answer: a, entryKind: lobby.EntryReconnected, countDown: invite}
	}
	h.enterAll(rooms)
}

// enterAll makes a session a member of rooms one after the other, as its outbox frees: what it is sent of all at once
// might never fit.
func (h *Hub) enterAll(rooms []*joining) {
	if len(rooms) == 0 {
		return
	}
	j := rooms[0]
	j.session.WhenFree(func() {
		// The next room is begun when this one was sent, or was found to have ended: never two at once.
		entered := j.countDown
		j.countDown = func() {
			entered()
			h.enterAll(rooms[1:])
		}
		h.enterRoom(j)
	})
}

// registerSession returns the connection that s replaces, if any. It is not current if the session has a connection
// with a later epoch.
func (h *Hub) registerSession(s *session) (old *session, current bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	old = h.sessions[s.Ref().ID]
	if old != nil && old.Ref().Epoch > s.Ref().Epoch {
		return nil, false
	}
	h.sessions[s.Ref().ID] = s
	h.options.Feed.Watch(s.Ref().ID)
	return old, true
}

// countDownFrom returns a function whose n-th call calls do. If n is 0, do is called here.
func countDownFrom(n int, do func()) (one func()) {
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

// DetachConn forgets a connection that is closed.
func (h *Hub) DetachConn(c Receiver) {
	s := h.sessionOf(c)
	if s == nil {
		return
	}
	h.mu.Lock()
	// A newer connection of the session may be attached by now, which goes on watching.
	if h.sessions[c.Ref().ID] == s {
		delete(h.sessions, c.Ref().ID)
		h.options.Feed.Unwatch(c.Ref().ID)
	}
	h.mu.Unlock()
	h.leaveRooms(s)
}

// leaveRooms takes a connection out of its rooms.
func (h *Hub) leaveRooms(s *session) {
	s.mu.Lock()
	members := s.membersByRoom
	s.membersByRoom = nil // from now on it enters no room
	s.mu.Unlock()
	for _, m := range members {
		m.room.runSoon(func(*batch) { m.room.forgetMember(m) })
	}
}

// sessionOf returns the session of a connection, nil if it is not attached any more.
func (h *Hub) sessionOf(c Receiver) *session {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.sessions[c.Ref().ID]; s != nil && s.Receiver == c {
		return s
	}
	return nil
}

// memberIn returns the member that a connection is in a room, or nil.
func (h *Hub) memberIn(c Receiver, room string) *member {
	s := h.sessionOf(c)
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.membersByRoom[room]
}

// JoinRoom makes a connection a member of a room and sends it the room. Call it with the answer to each join, when the
// rpc.response is in the outbox.
func (h *Hub) JoinRoom(c Receiver, a db.LobbyAnswer) {
	if s := h.sessionOf(c); s != nil {
		h.enterRoom(&joining{session: s, answer: a, entryKind: lobby.EntryJoined, countDown: func() {}})
	}
}

// joining is a session that becomes a member of the room of an answer.
type joining struct {
	session   *session
	answer    db.LobbyAnswer
	entryKind string // of its entry
	countDown func() // called when the session was sent the room, or is not

	laterRows  []db.LobbyRow // behind the answer, from the log
	logWasRead bool          // the log was read
}

// enterRoom makes a session a member.
func (h *Hub) enterRoom(j *joining) {
	a := j.answer
	if a.RoomSnapshot == nil || a.IsClosed {
		j.countDown()
		return
	}
	h.mu.Lock()
	r, known := h.rooms[a.LobbyUID]
	if !known {
		r = newHubRoom(h, a)
		h.rooms[a.LobbyUID] = r
		h.options.Feed.Watch(r.feedKey)
	}
	// Queued under the lock of the hub: a room that retires takes that lock and looks for jobs, so it cannot miss this
	// one.
	r.runSoon(func(b *batch) { r.receiveJoin(b, j) })
	h.mu.Unlock()
	if !known {
		h.logReader.requestRead(r) // for what happened before Watch
	}
	// Behind the job above: the session has entered when the row of its join comes, and is not sent it again.
	h.DeliverAnswer(a)
}

// DeliverAnswer delivers what an action of this process did. Call it with each answer, when the rpc.response is in the
// outbox.
func (h *Hub) DeliverAnswer(a db.LobbyAnswer) {
	h.mu.RLock()
	r := h.rooms[a.LobbyUID]
	h.mu.RUnlock()
	if r == nil {
		return
	}
	// Without a row the action changed nothing that others see.
	if a.LogRow != nil {
		r.offerRow(*a.LogRow, a.RoomSnapshot)
	}
	if a.IsClosed {
		r.runSoon(func(*batch) { r.endRoom() })
	}
}

// LeaveRoom takes a connection out of a room that it has left, at once, and delivers the answer to the others.
func (h *Hub) LeaveRoom(c Receiver, a db.LobbyAnswer) {
	if s := h.sessionOf(c); s != nil {
		s.forgetInvitation(a.LobbyUID)
	}
	if a.RoomSnapshot != nil {
		// Another room may have the id by now, and the session may be in that one.
		if m := h.memberIn(c, a.RoomSnapshot.ID); m != nil && m.room.lobbyUID == a.LobbyUID {
			m.room.runSoon(func(*batch) {
				if m.joinPos < a.RoomSnapshot.LogPosition { // otherwise it has joined again since
					m.room.forgetMember(m)
				}
			})
		}
	}
	h.DeliverAnswer(a)
}

// TakeAck takes a client's state.ack. checksum is "" if it has none.
func (h *Hub) TakeAck(c Receiver, room string, seq float64, checksum string) {
	if m := h.memberIn(c, room); m != nil {
		m.addAck(seq, checksum)
	}
}

// RequestSnapshot sends a client the state of a room. It returns false if the client is no member.
func (h *Hub) RequestSnapshot(c Receiver, room string) bool {
	m := h.memberIn(c, room)
	if m != nil {
		m.requestSnapshot(true)
	}
	return m != nil
}

// SendDropped sends a snapshot of a room whose patches the outbox has dropped. Call it when half of the outbox is free
// again.
func (h *Hub) SendDropped(c Receiver, room string) {
	if m := h.memberIn(c, room); m != nil {
		m.requestSnapshot(false)
	}
}

// RelayFrame sends a frame to the members of a room that are connected to this process. It returns false if the sender
// is none.
func (h *Hub) RelayFrame(c Receiver, room string, frame *wire.SharedFrame) bool {
	m := h.memberIn(c, room)
	if m != nil {
		m.room.runSoon(func(*batch) { m.room.sendToAll(frame) })
	}
	return m != nil
}
