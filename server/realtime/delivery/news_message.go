package delivery

import (
	"context"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// sendMessages sends a session the messages to its player that it has neither read nor been sent.
func (n *newsReader) sendMessages(ctx context.Context, s *session, news db.RealtimeNews) error {
	after := s.sentMessage()
	if news.IsSuperseded || news.IsRevoked || news.LastMessage <= after {
		return nil
	}
	messages, err := n.hub.options.Store.PlayerMessages(ctx, n.hub.options.Region, s.Ref().ID, after, true)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		if m.Number > s.lastMessage {
			s.lastMessage = m.Number
			s.Push(PushEvent, "", wire.NewSharedFrame(wire.Outgoing{Type: "player.message", P: PlayerMessage(m)}))
		}
	}
	return nil
}

func (s *session) sentMessage() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lastMessage
}

// PlayerMessage returns the payload of player.message. A message of a backend has no sender.
func PlayerMessage(m db.PlayerMessage) map[string]any {
	p := map[string]any{"type": m.Type, "data": m.Data}
	wire.AddText(p, "from", m.FromSession)
	AddSaying(p, m.Number, m.SentAt.UnixMilli(), m.FromSession, m.FromPlayer)
	return p
}
