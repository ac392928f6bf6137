package delivery

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/realtime/wire"
)

// queueNews is what a session with its connection here knows of its place in the queue. Its session's lock guards it.
type queueNews struct {
	enqueueCalls  int       // of matchmaking.enqueue, counted when they begin and when they end
	isWaiting     bool      // by the last news, or an enqueue since
	pendingMatch  uuid.UUID // the match that the client was asked to accept last
	expiredTicket string    // the ticket of which the client was sent matchmaking.expired last
}

// CountEnqueue counts a call of matchmaking.enqueue, at its beginning and at its end: news that were read earlier are
// about another ticket.
func (h *Hub) CountEnqueue(c Receiver) {
	if s := h.sessionOf(c); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queueNews.enqueueCalls++
		s.queueNews.isWaiting = true
		s.queueNews.expiredTicket = "" // it may get the same one again, from another session of its player
	}
}

func (s *session) enqueueCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueNews.enqueueCalls
}

// takeQueueNews sends match.pending for a ready check, and matchmaking.expired for a ticket that left the queue without
// a match, once each.
func (s *session) takeQueueNews(news db.RealtimeNews, enqueued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queueNews
	// What was read is about the ticket before the call. The call's own news is read with the next look.
	if q.enqueueCalls != enqueued {
		return
	}
	q.isWaiting = news.CurrentWait != nil
	if w := news.CurrentWait; w != nil && w.AskedMatch != uuid.Nil && w.AskedMatch != q.pendingMatch {
		q.pendingMatch = w.AskedMatch
		s.Push(PushEvent, "", wire.NewSharedFrame(pendingMessage(*w)))
	}
	if e := news.ExpiredWait; e != nil && news.CurrentWait == nil && e.TicketID != q.expiredTicket {
		q.expiredTicket = e.TicketID
		s.Push(PushEvent, "", wire.NewSharedFrame(expiredMessage(*e)))
	}
}

// askWaiting asks for the news of the sessions that wait for a match.
func (n *newsReader) askWaiting() {
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	for id, s := range n.hub.sessions {
		if s.isWaiting() {
			n.askFor(id)
		}
	}
}

func (s *session) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueNews.isWaiting
}
