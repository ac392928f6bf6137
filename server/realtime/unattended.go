package realtime

import (
	"context"
	"sync"
	"time"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
)

// unattendedSearch is the search for sessions that this replica owns and that have no connection: the outcome of the
// calls that opened them is unknown, and their clients did not come back.
type unattendedSearch struct {
	mu         sync.Mutex
	callFailed bool // a call that opens a session has failed since the last search began

	// Of the goroutine that renews the lease.
	candidates map[string]db.SessionEpoch // without a connection at the last look, by id; nil: no search is under way
	lookAt     time.Time                  // when to look next
}

// noteFailedCall takes the error of a call that opens a session: it may have opened one although it failed.
func (u *unattendedSearch) noteFailedCall(err error) {
	// The database has answered: it opened no session.
	if _, decided := fault.AsDecision(err); decided {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.callFailed = true
}

// takeFailedCall reports whether a search is to begin, and forgets the failed calls that are its reason.
func (u *unattendedSearch) takeFailedCall() bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	// A search that is under way ends first: it may have read the sessions before that call, so another one follows.
	if !u.callFailed || u.candidates != nil {
		return false
	}
	u.callFailed = false
	return true
}

// markUnattended marks sessions to suspend that had no connection at two looks, since one whose handshake is under way
// has none for a moment.
func (r *replica) markUnattended(ctx context.Context, now time.Time) error {
	u := &r.unattended
	if u.takeFailedCall() {
		u.candidates, u.lookAt = map[string]db.SessionEpoch{}, now.Add(r.region.server.options.timing.lookEvery)
	}
	if u.candidates == nil || now.Before(u.lookAt) {
		return nil
	}
	found, err := r.findUnattended(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for id, session := range found {
		// With the same epoch: one that was opened again since the last look is a handshake that is under way.
		if u.candidates[id] == session {
			r.lateSessions[id] = session
		}
	}
	u.candidates, u.lookAt = found, now.Add(r.region.server.options.timing.lookEvery)
	// All sessions have a connection: nothing is read any more until another call fails.
	if len(found) == 0 {
		u.candidates = nil
	}
	return nil
}

// findUnattended returns the sessions that this replica owns and that have no connection, by id.
func (r *replica) findUnattended(ctx context.Context) (map[string]db.SessionEpoch, error) {
	found := map[string]db.SessionEpoch{}
	for after := ""; ; {
		page, err := r.ownedPage(ctx, after)
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
	// After the sessions were read, so that a connection that was made in between counts.
	for _, c := range r.conns.Conns() {
		if found[c.sessionEpoch.ID] == c.sessionEpoch {
			delete(found, c.sessionEpoch.ID)
		}
	}
	return found, nil
}

// ownedPage returns the next sessions by id that the database says this replica owns.
func (r *replica) ownedPage(ctx context.Context, after string) ([]db.SessionEpoch, error) {
	ctx, cancel := context.WithTimeout(ctx, leaseTimeout)
	defer cancel()
	return r.region.server.store.OwnedRealtime(ctx, r.region.name, r.id, after)
}
