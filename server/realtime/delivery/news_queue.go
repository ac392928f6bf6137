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

func (q *queueNews) noteEnqueue() {
	q.enqueueCalls++
	q.isWaiting = true
	q.expiredTicket = "" // the session may get the same ticket again, from another session of its player
}

// takeNews notes news, and returns the messages about them: match.pending for a ready check, and matchmaking.expired
// for a ticket that left the queue without a match, once each. enqueued is the value of enqueueCalls from before the
// news were read.
func (q *queueNews) takeNews(news db.RealtimeNews, enqueued int) (messages []wire.Outgoing) {
	// What was read is about the ticket before the call. The call's own news is read with the next look.
	if q.enqueueCalls != enqueued {
		return nil
	}
	q.isWaiting = news.CurrentWait != nil
	if w := news.CurrentWait; w != nil && w.AskedMatch != uuid.Nil && w.AskedMatch != q.pendingMatch {
		q.pendingMatch = w.AskedMatch
		messages = append(messages, pendingMessage(*w))
	}
	// A session that waits again has replaced the expired ticket: what became of it is no news any more.
	if e := news.ExpiredWait; e != nil && news.CurrentWait == nil && e.TicketID != q.expiredTicket {
		q.expiredTicket = e.TicketID
		messages = append(messages, expiredMessage(*e))
	}
	return messages
}

// noteEnqueue counts a call of matchmaking.enqueue.
func (s *session) noteEnqueue() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queueNews.noteEnqueue()
}

// enqueueCount returns how often noteEnqueue was called.
func (s *session) enqueueCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueNews.enqueueCalls
}

func (s *session) isWaiting() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queueNews.isWaiting
}

// takeQueueNews sends what is new about the session's place in the queue. enqueued is its enqueueCount from before the
// news were read.
func (s *session) takeQueueNews(news db.RealtimeNews, enqueued int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, message := range s.queueNews.takeNews(news, enqueued) {
		s.conn.Push(PushEvent, "", wire.NewSharedFrame(message))
	}
}
