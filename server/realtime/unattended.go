package realtime

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// unattended finds sessions that this replica owns and that have no connection: the outcome of the calls that opened them is unknown, and their
// clients did not come back.
type unattended struct {
	mu     sync.Mutex
	doubts bool // such a call has failed

	// Of the goroutine that renews the lease.
	seen map[string]db.SessionEpoch // without a connection at the last look, by id; nil: nobody looks
	next time.Time                  // when to look
}

// suspect takes the error of a call that opens a session.
func (u *unattended) suspect(err error) {
	var e *fault.Error
	if errors.As(err, &e) && e.Kind != fault.Unavailable {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.doubts = true
}

// begins reports whether it is time to begin looking.
func (u *unattended) begins() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	begins := u.doubts && u.seen == nil
	u.doubts = u.doubts && !begins
	return begins
}

// findUnattended marks sessions to suspend that had no connection at two looks, since one whose handshake is under way has none for a moment.
func (l *life) findUnattended(ctx context.Context, now time.Time) error {
	u := &l.unattended
	if u.begins() {
		u.seen, u.next = map[string]db.SessionEpoch{}, now.Add(l.options.timing.look)
	}
	if u.seen == nil || now.Before(u.next) {
		return nil
	}
	found, err := l.withoutConnection(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for id, session := range found {
		if u.seen[id] == session {
			l.late[id] = session
		}
	}
	if u.seen, u.next = found, now.Add(l.options.timing.look); len(found) == 0 {
		u.seen = nil
	}
	return nil
}

// withoutConnection returns the sessions that this replica owns and that have no connection, by id.
func (l *life) withoutConnection(ctx context.Context) (map[string]db.SessionEpoch, error) {
	found := map[string]db.SessionEpoch{}
	for after := ""; ; {
		page, err := l.ownedPage(ctx, after)
		if err != nil {
			return nil, err
		}
		if len(page) == 0 {
			break
		}
		for _, session := range page {
			found[session.ID] = session
		}
		after = page[len(page)-1].ID
	}
	for _, c := range l.all() {
		if found[c.session.ID] == c.session {
			delete(found, c.session.ID)
		}
	}
	return found, nil
}

func (l *life) ownedPage(ctx context.Context, after string) ([]db.SessionEpoch, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return l.store.OwnedRealtime(ctx, l.name, l.id, after)
}
