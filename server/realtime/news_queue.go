package realtime

import (
	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
)

// queueNews is what a session with its connection here knows of its place in the queue. Its session's lock guards it.
type queueNews struct {
	calls   int       // of matchmaking.enqueue, counted when they begin and when they end
	waits   bool      // by the last news, or an enqueue since
	asked   uuid.UUID // the match that the client was asked to accept last
	expired string    // the ticket of which the client was sent matchmaking.expired last
}

// enqueueing counts a call of matchmaking.enqueue, at its beginning and at its end: news that were read earlier are about another ticket.
func (h *hub) enqueueing(c receiver) {
	if s := h.session(c); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.queue.calls++
		s.queue.waits = true
	}
}

func (s *attached) enqueued() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.calls
}

// tellQueue sends match.pending for a ready check, and matchmaking.expired for a ticket that left the queue without a match, once each.
func (s *attached) tellQueue(news db.RealtimeNews, enqueued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q := &s.queue
	if q.calls != enqueued {
		return
	}
	q.waits = news.Waits != nil
	if w := news.Waits; w != nil && w.Asked != uuid.Nil && w.Asked != q.asked {
		q.asked = w.Asked
		s.push(pushEvent, "", newShared(pendingMessage(*w)))
	}
	if e := news.Expired; e != nil && news.Waits == nil && e.Ticket != q.expired {
		q.expired = e.Ticket
		s.push(pushEvent, "", newShared(expiredMessage(*e)))
	}
}

// askWaiting asks for the news of the sessions that wait for a match.
func (n *newsReader) askWaiting() {
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	for id, s := range n.hub.sessions {
		if s.waits() {
			n.ask(id)
		}
	}
}

func (s *attached) waits() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queue.waits
}
