package realtime

import (
	"context"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/server/ws"
)

const (
	renewEvery   = time.Second
	leaseTimeout = 3 * time.Second // of a call that is repeated each second
	maxLateBatch = 1000            // sessions that are suspended in one call
)

// replica is one id of this replica in a region, from BeginRealtimeReplica until the server stops or others end the id,
// with the connections that it owns.
type replica struct {
	region *region

	id       uuid.UUID
	conns    *ws.Set[*conn, *conn]
	hasEnded chan struct{} // closed when the id has ended

	mu           sync.Mutex
	lateSessions map[string]db.SessionEpoch // by id, without a connection: the next renewal suspends them

	unattended unattendedSearch
}

func newReplica(r *region, id uuid.UUID) *replica {
	return &replica{region: r, id: id, conns: ws.NewSet[*conn, *conn](), hasEnded: make(chan struct{}),
		lateSessions: map[string]db.SessionEpoch{}}
}

// suspendSession suspends a session whose connection is closed. If that fails, the next renewal suspends it: nobody
// else does while this replica lives.
func (r *replica) suspendSession(session db.SessionEpoch, silence time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), r.region.server.options.timing.callTimeout)
	defer cancel()
	if r.suspendAll(ctx, []db.SessionEpoch{session}, silence) != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.lateSessions[session.ID] = session
	}
}

func (r *replica) suspendAll(ctx context.Context, sessions []db.SessionEpoch, silence time.Duration) error {
	// Clients of a replica that restarts reconnect to another one at once: their rooms would be sent twice as many
	// changes in the seconds in which all of them do.
	announce := !r.region.server.isStopping.Load()
	return r.region.server.store.SuspendRealtime(ctx, r.region.name, sessions, db.Suspension{
		AwayAction: r.region.server.options.RoomTypes.MarkAway, IsAnnounced: announce, SilentFor: silence,
	})
}

// suspendLate suspends the late sessions: those that were not suspended when their connections ended. It begins no further
// batch after until.
func (r *replica) suspendLate(ctx context.Context, until time.Time) error {
	for {
		batch := r.nextLateBatch()
		if len(batch) == 0 {
			return nil
		}
		bounded, cancel := context.WithTimeout(ctx, leaseTimeout)
		// Late by a time that is not recorded: the longest that a client may have been silent is assumed.
		err := r.suspendAll(bounded, batch, r.region.server.options.timing.silenceLimit())
		cancel()
		if err != nil {
			return err
		}
		r.forgetLate(batch)
		if !time.Now().Before(until) {
			return nil
		}
	}
}

// nextLateBatch returns some of the late sessions. They are suspended in batches: after an outage there may be tens of
// thousands, and one call could not suspend all of them in time.
func (r *replica) nextLateBatch() (batch []db.SessionEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, session := range r.lateSessions {
		batch = append(batch, session)
		if len(batch) == maxLateBatch {
			break
		}
	}
	return batch
}

// forgetLate forgets sessions that were suspended, unless they became late again with a later epoch.
func (r *replica) forgetLate(suspended []db.SessionEpoch) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, session := range suspended {
		if r.lateSessions[session.ID] == session {
			delete(r.lateSessions, session.ID)
		}
	}
}
