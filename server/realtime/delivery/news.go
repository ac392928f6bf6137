package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/outage"
	"github.com/lattice-director/director/internal/base/wait"
)

const (
	// newsEvery is how often the news of all sessions is read, because notifications can be lost.
	newsEvery = 10 * time.Second
	newsRetry = time.Second // after a failure
	// waitingEvery is how often the news of sessions that wait for a match is read: a ready check ends within seconds.
	waitingEvery = 2 * time.Second
	newsPage     = 1000
)

// newsReader reads what a connection has to know about its session: that it has another connection, that its key was
// revoked, its invitations, its place in the queue, and messages to its player.
type newsReader struct {
	options  HubOptions
	outages  *outage.Log
	sessions *attachedSessions
	wake     chan struct{}

	mu       sync.Mutex
	askedIDs map[string]bool // of the sessions to read
	allAsked bool            // the news of all sessions are asked for
}

func newNewsReader(o HubOptions, outages *outage.Log, sessions *attachedSessions) *newsReader {
	return &newsReader{
		options: o, outages: outages, sessions: sessions, wake: make(chan struct{}, 1), askedIDs: map[string]bool{},
	}
}

// askFor asks for the news of a session.
func (n *newsReader) askFor(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.askedIDs[id] = true
	wait.Wake(n.wake)
}

// askAll asks for the news of all sessions.
func (n *newsReader) askAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.allAsked = true
	wait.Wake(n.wake)
}

// askWaiting asks for the news of the sessions that wait for a match.
func (n *newsReader) askWaiting() {
	for _, id := range n.sessions.waitingIDs() {
		n.askFor(id)
	}
}

// followNews reads until ctx ends.
func (n *newsReader) followNews(ctx context.Context) {
	var allReadAt time.Time // when the news of all sessions was read last
	follow.Loop{
		Name: "session news", Every: waitingEvery, Retry: newsRetry, Wakes: follow.Wakes{n.wake},
		Guard:  n.options.Guard,
		Report: n.outages.Call("session news").Report,
		Do: func(ctx context.Context, inFull bool) error {
			switch { // asking wakes the loop once more, so not on a wake-up
			case inFull && time.Since(allReadAt) >= newsEvery:
				n.askAll()
			case inFull:
				n.askWaiting()
			}
			all, err := n.readOnce(ctx)
			switch {
			case err != nil:
				allReadAt = time.Time{} // what was asked for is lost
			case all:
				allReadAt = time.Now()
			}
			return err
		},
	}.Run(ctx)
}

// readOnce reads the news of the sessions that were asked for, which may be all.
func (n *newsReader) readOnce(ctx context.Context) (all bool, err error) {
	replica := n.options.Replica()
	// Without an id this replica owns no session, so every one of them would look superseded.
	if replica == uuid.Nil {
		return false, nil
	}
	asked, all := n.takeAsked()
	for page := range slices.Chunk(asked, newsPage) {
		if err := n.readPage(ctx, replica, page); err != nil {
			return false, err
		}
	}
	return all, nil
}

// takeAsked returns the sessions that were asked for and have their connection here.
func (n *newsReader) takeAsked() (asked []db.SessionEpoch, all bool) {
	n.mu.Lock()
	ids, all := n.askedIDs, n.allAsked
	n.askedIDs, n.allAsked = map[string]bool{}, false
	n.mu.Unlock()
	if all {
		return n.sessions.allRefs(), true
	}
	return n.sessions.refsOf(ids), false
}

// readPage reads the news of sessions and has each act on its own. A session without news has no invitations any more.
func (n *newsReader) readPage(ctx context.Context, replica uuid.UUID, page []db.SessionEpoch) error {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	enqueued := make(map[string]int, len(page))
	for _, ref := range page {
		if s := n.sessions.currentSession(ref); s != nil {
			// Counted before the statement: if the client enqueues meanwhile, what was read is about its former ticket.
			enqueued[ref.ID] = s.enqueueCount()
		}
	}
	read, err := n.options.Store.ReadRealtimeNews(ctx, n.options.Region, replica, page)
	if err != nil {
		return err
	}
	bySession := make(map[string]db.RealtimeNews, len(read))
	for _, item := range read {
		bySession[item.SessionID] = item
	}
	for _, ref := range page {
		// Looked up again: the connection may have been replaced while the database was asked.
		if s := n.sessions.currentSession(ref); s != nil {
			s.takeNews(bySession[ref.ID], enqueued[ref.ID])
			if err := n.deliverMessages(ctx, s, bySession[ref.ID]); err != nil {
				return err
			}
		}
	}
	return nil
}

// deliverMessages reads the messages to a session's player that it has not read, and sends those that the session was
// not sent.
func (n *newsReader) deliverMessages(ctx context.Context, s *session, news db.RealtimeNews) error {
	after := s.sentMessage()
	// A session whose connection was closed for its news gets the messages with its next connection.
	if news.IsSuperseded || news.IsRevoked || news.LastMessage <= after {
		return nil
	}
	messages, err := n.options.Store.UnreadPlayerMessages(ctx, n.options.Region, s.conn.Ref().ID, after)
	if err != nil {
		return err
	}
	s.sendMessages(messages)
	return nil
}

// takeNews acts on the news of a session; the zero value says that it has none, and no invitations. enqueued is its
// enqueueCount from before the news were read.
func (s *session) takeNews(news db.RealtimeNews, enqueued int) {
	switch {
	// First: what else the news say is for the connection that has the session now.
	case news.IsSuperseded:
		s.conn.Close(CloseSuperseded, ReasonSuperseded)
	case news.IsRevoked:
		s.conn.Close(CloseKey, reasonRevoked)
	default:
		s.replaceInvitations(news.Invitations)
		s.takeQueueNews(news, enqueued)
	}
}
