package delivery

import (
	"context"
	"sync"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/lobby"
	"github.com/lattice-director/director/server/realtime/wire"
)

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
	options    HubOptions
	sessions   *attachedSessions
	rooms      *openRooms
	newsReader *newsReader
	logReader  *logReader
}

// NewHub returns a hub. [Hub.Run] must be called: it ends the subscription to notifications.
func NewHub(o HubOptions) *Hub {
	outages, sessions, requests := outage.New(o.Log), newAttachedSessions(o.Feed), newLogRequests()
	rooms, news := newOpenRooms(o, requests), newNewsReader(o, outages, sessions)
	return &Hub{
		options: o, sessions: sessions, rooms: rooms, newsReader: news,
		logReader: &logReader{options: o, outages: outages, rooms: rooms, requests: requests, news: news},
	}
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
	s := newSession(c)
	old, current := h.sessions.registerSession(s)
	if !current {
		c.Close(CloseSuperseded, ReasonSuperseded)
		return
	}
	if old != nil {
		old.leaveRooms()
		old.conn.Close(CloseSuperseded, ReasonSuperseded)
	}
	h.newsReader.askFor(c.Ref().ID) // for what happened before its notices were watched, and for messages to the player
	invite := func() { s.addInvitations(opened.Invitations) }
	if !opened.IsResumed {
		invite()
		return
	}
	// Invitations come after all rooms that the session already has.
	h.enterInTurn(s, opened.RoomAnswers, invite)
}

// enterInTurn makes a session a member of rooms again, and calls then when it was sent the last of them. The next room
// waits until the one before was sent and half of the outbox is free: what a session is sent of all its rooms at once
// might never fit.
func (h *Hub) enterInTurn(s *session, rooms []db.LobbyAnswer, then func()) {
	if len(rooms) == 0 {
		then()
		return
	}
	enterNext := func() { h.enterInTurn(s, rooms[1:], then) }
	s.conn.WhenFree(func() {
		h.rooms.enterRoom(&joining{
			session: s, answer: rooms[0], entryKind: lobby.EntryReconnected, whenSent: enterNext,
		})
	})
}

// DetachConn forgets a connection that is closed.
func (h *Hub) DetachConn(c Receiver) {
	if s := h.sessions.sessionOf(c); s != nil {
		h.sessions.removeSession(s)
		s.leaveRooms()
	}
}

// memberIn returns the member that a connection is in a room, or nil.
func (h *Hub) memberIn(c Receiver, room string) *member {
	if s := h.sessions.sessionOf(c); s != nil {
		return s.memberIn(room)
	}
	return nil
}

// JoinRoom makes a connection a member of a room and sends it the room. Call it with the answer to each join, when the
// rpc.response is in the outbox.
func (h *Hub) JoinRoom(c Receiver, a db.LobbyAnswer) {
	if s := h.sessions.sessionOf(c); s != nil {
		h.rooms.enterRoom(&joining{session: s, answer: a, entryKind: lobby.EntryJoined, whenSent: func() {}})
	}
}

// DeliverAnswer delivers what an action of this process did. Call it with each answer, when the rpc.response is in the
// outbox.
func (h *Hub) DeliverAnswer(a db.LobbyAnswer) { h.rooms.deliverAnswer(a) }

// CountEnqueue counts a call of matchmaking.enqueue, at its beginning and at its end: news that were read earlier are
// about another ticket.
func (h *Hub) CountEnqueue(c Receiver) {
	if s := h.sessions.sessionOf(c); s != nil {
		s.noteEnqueue()
	}
}

// LeaveRoom takes a connection out of a room that it has left, at once, and delivers the answer to the others.
func (h *Hub) LeaveRoom(c Receiver, a db.LobbyAnswer) {
	if s := h.sessions.sessionOf(c); s != nil {
		s.forgetInvitation(a.LobbyUID)
	}
	if a.RoomSnapshot != nil {
		// The client must get nothing of the room after the answer, so this does not wait for the row of its leaving.
		// Another room may have the id by now, and the session may be in that one.
		if m := h.memberIn(c, a.RoomSnapshot.ID); m != nil && m.room.lobbyUID == a.LobbyUID {
			m.room.inbox.runSoon(func(*batch) {
				if m.joinPos < a.RoomSnapshot.LogPosition { // otherwise it has joined again since
					m.room.forgetMember(m)
				}
			})
		}
	}
	h.rooms.deliverAnswer(a)
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
		m.requestResync()
	}
	return m != nil
}

// SendDropped sends a snapshot of a room whose patches the outbox has dropped. Call it when half of the outbox is free
// again.
func (h *Hub) SendDropped(c Receiver, room string) {
	if m := h.memberIn(c, room); m != nil {
		m.replaceDropped()
	}
}

// RelayFrame sends a frame to the members of a room that are connected to this process. It returns false if the sender
// is none.
func (h *Hub) RelayFrame(c Receiver, room string, frame *wire.SharedFrame) bool {
	m := h.memberIn(c, room)
	if m != nil {
		m.room.inbox.runSoon(func(*batch) { m.room.sendToAll(frame) })
	}
	return m != nil
}
