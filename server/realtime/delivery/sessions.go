package delivery

import (
	"sync"

	"github.com/lattice-director/director/db"
)

// attachedSessions are the sessions whose connections are here. It watches the notices about them. Safe for concurrent
// use.
type attachedSessions struct {
	feed noticeFeed

	mu   sync.RWMutex
	byID map[string]*session
}

func newAttachedSessions(feed noticeFeed) *attachedSessions {
	return &attachedSessions{feed: feed, byID: map[string]*session{}}
}

// registerSession returns the connection that s replaces, if any. It is not current if the session has a connection
// with a later epoch.
func (a *attachedSessions) registerSession(s *session) (old *session, current bool) {
	ref := s.conn.Ref()
	a.mu.Lock()
	defer a.mu.Unlock()
	old = a.byID[ref.ID]
	// Two handshakes of one session raced, and the later epoch was attached first.
	if old != nil && old.conn.Ref().Epoch > ref.Epoch {
		return nil, false
	}
	a.byID[ref.ID] = s
	a.feed.Watch(ref.ID)
	return old, true
}

// removeSession forgets a session whose connection is closed.
func (a *attachedSessions) removeSession(s *session) {
	id := s.conn.Ref().ID
	a.mu.Lock()
	defer a.mu.Unlock()
	// A newer connection of the session may be attached by now, which goes on watching.
	if a.byID[id] == s {
		delete(a.byID, id)
		a.feed.Unwatch(id)
	}
}

// sessionOf returns the session of a connection, nil if it is not attached any more.
func (a *attachedSessions) sessionOf(c Receiver) *session {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.byID[c.Ref().ID]; s != nil && s.conn == c {
		return s
	}
	return nil
}

// currentSession returns the session of a reference, nil if it has another connection by now.
func (a *attachedSessions) currentSession(ref db.SessionEpoch) *session {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if s := a.byID[ref.ID]; s != nil && s.conn.Ref() == ref {
		return s
	}
	return nil
}

// allRefs returns the references of all sessions.
func (a *attachedSessions) allRefs() []db.SessionEpoch {
	a.mu.RLock()
	defer a.mu.RUnlock()
	refs := make([]db.SessionEpoch, 0, len(a.byID))
	for _, s := range a.byID {
		refs = append(refs, s.conn.Ref())
	}
	return refs
}

// refsOf returns the references of those sessions that are here.
func (a *attachedSessions) refsOf(ids map[string]bool) (refs []db.SessionEpoch) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for id := range ids {
		if s := a.byID[id]; s != nil {
			refs = append(refs, s.conn.Ref())
		}
	}
	return refs
}

// waitingIDs returns the sessions that wait for a match.
func (a *attachedSessions) waitingIDs() (ids []string) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	for id, s := range a.byID {
		if s.isWaiting() {
			ids = append(ids, id)
		}
	}
	return ids
}
