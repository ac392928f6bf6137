package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/follow"
	"github.com/lattice-director/director/internal/base/wait"
	"github.com/lattice-director/director/server/realtime/wire"
)

const (
	// newsEvery is how often the news of all sessions is read, because notifications can be lost.
	newsEvery = 10 * time.Second
	newsRetry = time.Second // after a failure
	// waitingEvery is how often the news of sessions that wait for a match is read: a ready check ends within seconds.
	waitingEvery = 2 * time.Second
	newsPage     = 1000
)

// The reasons with which the hub closes connections.
const (
	ReasonSuperseded = "session replaced"
	reasonRevoked    = "key revoked"
)

// newsReader reads what a connection has to know about its session: that it has another connection, that its key was
// revoked, and invitations.
type newsReader struct {
	hub  *Hub
	wake chan struct{}

	mu         sync.Mutex
	askedIDs   map[string]bool // of the sessions to read
	asksForAll bool
}

func (n *newsReader) init(h *Hub) {
	n.hub, n.wake, n.askedIDs = h, make(chan struct{}, 1), map[string]bool{}
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
	n.asksForAll = true
	wait.Wake(n.wake)
}

// followNews reads until ctx ends.
func (n *newsReader) followNews(ctx context.Context) {
	var readAll time.Time // when the news of all sessions was read last
	follow.Loop{
		Name: "session news", Every: waitingEvery, Retry: newsRetry, Wakes: follow.Wakes{n.wake},
		Guard:  n.hub.options.Guard,
		Report: n.hub.outageLog.Call("session news").Report,
		Do: func(ctx context.Context, inFull bool) error {
			switch { // asking wakes the loop once more, so not on a wake-up
			case inFull && time.Since(readAll) >= newsEvery:
				n.askAll()
			case inFull:
				n.askWaiting()
			}
			all, err := n.readOnce(ctx)
			switch {
			case err != nil:
				readAll = time.Time{} // what was asked for is lost
			case all:
				readAll = time.Now()
			}
			return err
		},
	}.Run(ctx)
}

// readOnce reads the news of the sessions that were asked for, which may be all.
func (n *newsReader) readOnce(ctx context.Context) (all bool, err error) {
	replica := n.hub.options.Replica()
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
	ids, all := n.askedIDs, n.asksForAll
	n.askedIDs, n.asksForAll = map[string]bool{}, false
	n.mu.Unlock()
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	if all {
		for _, s := range n.hub.sessions {
			asked = append(asked, s.Ref())
		}
		return asked, true
	}
	for id := range ids {
		if s := n.hub.sessions[id]; s != nil {
			asked = append(asked, s.Ref())
		}
	}
	return asked, false
}

func (n *newsReader) readPage(ctx context.Context, replica uuid.UUID, page []db.SessionEpoch) error {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	asked := make(map[string]int, len(page))
	for _, ref := range page {
		if s := n.hub.currentSession(ref); s != nil {
			// Counted before the statement: if the client enqueues meanwhile, what was read is about its former ticket.
			asked[ref.ID] = s.enqueueCount()
		}
	}
	news, err := n.hub.options.Store.RealtimeNews(ctx, n.hub.options.Region, replica, page)
	if err != nil {
		return err
	}
	told := make(map[string]db.RealtimeNews, len(news))
	for _, item := range news {
		told[item.SessionID] = item
	}
	for _, ref := range page {
		if s := n.hub.currentSession(ref); s != nil {
			// Looked up again: the connection may have been replaced while the database was asked.
			s.takeNews(told[ref.ID], asked[ref.ID])
			if err := n.sendMessages(ctx, s, told[ref.ID]); err != nil {
				return err
			}
		}
	}
	return nil
}

// currentSession returns the session of a reference, nil if it has another connection by now.
func (h *Hub) currentSession(ref db.SessionEpoch) *session {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.sessions[ref.ID]; s != nil && s.Ref() == ref {
		return s
	}
	return nil
}

// takeNews acts on the news of a session, which were read when it had called for a place in the queue so many times.
// Without news it has no invitations.
func (s *session) takeNews(news db.RealtimeNews, enqueued int) {
	switch {
	case news.IsSuperseded:
		s.Close(CloseSuperseded, ReasonSuperseded)
	case news.IsRevoked:
		s.Close(CloseKey, reasonRevoked)
	default:
		s.sendNewInvitations(news.Invitations)
		s.takeQueueNews(news, enqueued)
	}
}

// addInvitations sends invitations that the session was not sent before. Later ones may have been sent already.
func (s *session) addInvitations(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendInvitations(open, s.sentInvitations)
}

// forgetInvitation forgets that an invitation was sent, because it was declined: the next one to the room is another.
func (s *session) forgetInvitation(room uuid.UUID) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sentInvitations, room)
}

func (s *session) sendInvitations(open []db.RealtimeInvitation, told map[uuid.UUID]bool) {
	for _, i := range open {
		if !told[i.LobbyUID] {
			s.Push(PushEvent, i.RoomID, wire.NewSharedFrame(invitationMessage(i)))
		}
		s.sentInvitations[i.LobbyUID] = true
	}
}

// sendNewInvitations sends the invitations that the session was not sent before. The others that it was sent are over.
func (s *session) sendNewInvitations(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sentInvitations
	s.sentInvitations = make(map[uuid.UUID]bool, len(open))
	s.sendInvitations(open, before)
}
