package delivery

import (
	"sync"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// session is a session whose connection is here.
type session struct {
	conn Receiver

	mu              sync.Mutex
	membersByRoom   map[string]*member // by the room's id; nil: the connection is gone, and enters no room any more
	sentInvitations map[uuid.UUID]bool // the rooms of the invitations that it was sent
	queueNews       queueNews
	lastMessage     int64 // the number of the last message to its player that it was sent
}

func newSession(c Receiver) *session {
	return &session{conn: c, membersByRoom: map[string]*member{}, sentInvitations: map[uuid.UUID]bool{}}
}

// joining is a session that becomes a member of the room of an answer.
type joining struct {
	session   *session
	answer    db.LobbyAnswer
	entryKind string // of its entry
	whenSent  func() // called when the session was sent the room, or is found not to be in it

	laterRows  []db.LobbyRow // after the answer, from the log
	logWasRead bool          // laterRows are all that the log has
}

// addMember records that a session is in a room. It returns false if its connection is gone.
func (s *session) addMember(room string, m *member) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.membersByRoom == nil {
		return false
	}
	s.membersByRoom[room] = m
	return true
}

// dropMember records that a session is no longer in a room.
func (s *session) dropMember(room string, m *member) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Another room may have the id by now, and the session may be in that one.
	if s.membersByRoom[room] == m {
		delete(s.membersByRoom, room)
	}
	delete(s.sentInvitations, m.room.lobbyUID) // the next invitation to the room is another one
}

// memberIn returns the member that the session is in a room, or nil.
func (s *session) memberIn(room string) *member {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.membersByRoom[room]
}

// leaveRooms takes the session out of its rooms. It enters none from now on.
func (s *session) leaveRooms() {
	s.mu.Lock()
	members := s.membersByRoom
	s.membersByRoom = nil
	s.mu.Unlock()
	for _, m := range members {
		m.room.inbox.runSoon(func(*batch) { m.room.forgetMember(m) })
	}
}
