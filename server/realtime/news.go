package realtime

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
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

// The reasons with which the hub closes connections.
const (
	reasonSuperseded = "session replaced"
	reasonRevoked    = "key revoked"
)

// newsReader reads what a connection has to know about its session: that it has another connection, that its key was revoked, and invitations.
type newsReader struct {
	hub  *hub
	wake chan struct{}

	mu  sync.Mutex
	ids map[string]bool // of the sessions to read
	all bool
}

func (n *newsReader) init(h *hub) {
	n.hub, n.wake, n.ids = h, make(chan struct{}, 1), map[string]bool{}
}

// ask asks for the news of a session.
func (n *newsReader) ask(id string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.ids[id] = true
	wait.Wake(n.wake)
}

// askAll asks for the news of all sessions.
func (n *newsReader) askAll() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.all = true
	wait.Wake(n.wake)
}

// run reads until ctx ends.
func (n *newsReader) run(ctx context.Context) {
	every := time.NewTicker(newsEvery)
	defer every.Stop()
	waiting := time.NewTicker(waitingEvery)
	defer waiting.Stop()
	for {
		select {
		case <-n.wake:
		case <-waiting.C:
			n.askWaiting()
		case <-every.C:
			n.askAll()
		case <-ctx.Done():
			return
		}
		began := time.Now()
		err := n.hub.Guard.Do("session news", func() error { return n.readOnce(ctx) })
		n.hub.trouble.Report(ctx, "session news", err)
		if err != nil {
			time.AfterFunc(newsRetry, n.askAll)
		}
		if !wait.For(ctx, time.Since(began)) { // so that reads take at most half of the time at any rate of notifications
			return
		}
	}
}

// readOnce reads the news of the sessions that were asked for.
func (n *newsReader) readOnce(ctx context.Context) error {
	replica := n.hub.Replica()
	if replica == uuid.Nil {
		return nil
	}
	for page := range slices.Chunk(n.take(), newsPage) {
		if err := n.readPage(ctx, replica, page); err != nil {
			return err
		}
	}
	return nil
}

// take returns the sessions that were asked for and have their connection here.
func (n *newsReader) take() []db.SessionEpoch {
	n.mu.Lock()
	ids, all := n.ids, n.all
	n.ids, n.all = map[string]bool{}, false
	n.mu.Unlock()
	n.hub.mu.RLock()
	defer n.hub.mu.RUnlock()
	var asked []db.SessionEpoch
	if all {
		for _, s := range n.hub.sessions {
			asked = append(asked, s.ref())
		}
		return asked
	}
	for id := range ids {
		if s := n.hub.sessions[id]; s != nil {
			asked = append(asked, s.ref())
		}
	}
	return asked
}

func (n *newsReader) readPage(ctx context.Context, replica uuid.UUID, page []db.SessionEpoch) error {
	ctx, cancel := context.WithTimeout(ctx, hubTimeout)
	defer cancel()
	asked := make(map[string]int, len(page))
	for _, ref := range page {
		if s := n.hub.current(ref); s != nil {
			asked[ref.ID] = s.enqueued()
		}
	}
	news, err := n.hub.Store.RealtimeNews(ctx, n.hub.Region, replica, page)
	if err != nil {
		return err
	}
	told := make(map[string]db.RealtimeNews, len(news))
	for _, item := range news {
		told[item.ID] = item
	}
	for _, ref := range page {
		if s := n.hub.current(ref); s != nil {
			s.tell(told[ref.ID], asked[ref.ID])
		}
	}
	return nil
}

// current returns the session of a reference, nil if it has another connection by now.
func (h *hub) current(ref db.SessionEpoch) *attached {
	h.mu.RLock()
	defer h.mu.RUnlock()
	if s := h.sessions[ref.ID]; s != nil && s.ref() == ref {
		return s
	}
	return nil
}

// tell acts on the news of a session, which were read when it had called for a place in the queue so many times. Without news it has no invitations.
func (s *attached) tell(news db.RealtimeNews, enqueued int) {
	switch {
	case news.Superseded:
		s.close(closeSuperseded, reasonSuperseded)
	case news.Revoked:
		s.close(closeKey, reasonRevoked)
	default:
		s.invite(news.Invitations)
		s.tellQueue(news, enqueued)
	}
}

// inviteAlso sends invitations that the session was not sent before. Later ones may have been sent already.
func (s *attached) inviteAlso(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sendInvitations(open, s.told)
}

func (s *attached) sendInvitations(open []db.RealtimeInvitation, told map[uuid.UUID]bool) {
	for _, i := range open {
		if !told[i.Lobby] {
			s.push(pushEvent, i.Room, newShared(invitationMessage(i)))
		}
		s.told[i.Lobby] = true
	}
}

// invite sends the invitations that the session was not sent before. The others that it was sent are over.
func (s *attached) invite(open []db.RealtimeInvitation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.told
	s.told = make(map[uuid.UUID]bool, len(open))
	s.sendInvitations(open, before)
}
