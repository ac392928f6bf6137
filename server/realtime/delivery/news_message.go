package delivery

import (
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// sentMessage returns the number of the last message to its player that the session was sent.
func (s *session) sentMessage() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastMessage
}

// sendMessages sends the session those messages to its player that it was not sent.
func (s *session) sendMessages(messages []db.PlayerMessage) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		if m.Number > s.lastMessage {
			s.lastMessage = m.Number
			out := wire.Outgoing{Type: "player.message", P: PlayerMessagePayload(m)}
			s.conn.Push(PushEvent, "", wire.NewSharedFrame(out))
		}
	}
}

// PlayerMessagePayload returns the payload of player.message. A message of a backend has no sender.
func PlayerMessagePayload(m db.PlayerMessage) map[string]any {
	p := map[string]any{"type": m.Type, "data": m.Data}
	wire.AddText(p, "from", m.FromSession)
	AddSaying(p, m.Number, m.SentAt.UnixMilli(), m.FromSession, m.FromPlayer)
	return p
}
