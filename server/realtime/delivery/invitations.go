package delivery

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// addInvitations sends invitations that the session was not sent before. Those that it was sent and that are not in
// open are not over: they may be later than open.
func (s *session) addInvitations(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendInvitations(open, s.sentInvitations)
}

// replaceInvitations sends the invitations that the session was not sent before. Those that it was sent and that are
// not in open are over.
func (s *session) replaceInvitations(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sentInvitations
	s.sentInvitations = make(map[uuid.UUID]bool, len(open))
	s.sendInvitations(open, before)
}

// sendInvitations sends the open invitations that are not in sentBefore, and notes that all of them were sent. mu is
// locked.
func (s *session) sendInvitations(open []db.RealtimeInvitation, sentBefore map[uuid.UUID]bool) {
	for _, i := range open {
		if !sentBefore[i.LobbyUID] {
			s.conn.Push(PushEvent, i.RoomID, wire.NewSharedFrame(invitationMessage(i)))
		}
		s.sentInvitations[i.LobbyUID] = true
	}
}

// forgetInvitation forgets that an invitation was sent, because it was declined: the next one to the room is another.
func (s *session) forgetInvitation(room uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sentInvitations, room)
}
