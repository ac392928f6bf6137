package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// Suspension says how sessions have lost their connections.
type Suspension struct {
	// AwayAction returns the action that marks a session as away in its rooms.
	AwayAction func(session string) lobby.Action
	// IsAnnounced makes AwayAction act at once. false: a worker announces the sessions after five seconds, except those
	// that are resumed by then.
	IsAnnounced bool
	SilentFor   time.Duration // for how long nothing had been received from the clients
}

// SuspendRealtime records that sessions have lost their connections, and pauses their tickets. A session with another
// epoch stays as it is. Errors: Unavailable.
func (s *Store) SuspendRealtime(ctx context.Context, region string, sessions []SessionEpoch, how Suspension) error {
	for part := range slices.Chunk(sessions, suspendedAtOnce) {
		if _, err := s.batchGroups.suspensions.Do(ctx, region, suspendRequest{part, how}); err != nil {
			return err
		}
	}
	return nil
}

// suspendedAtOnce bounds the sessions of a transaction, which reads and writes all their rooms.
const suspendedAtOnce = 256

type suspendRequest struct {
	sessionEpochs []SessionEpoch
	how           Suspension
}

type suspendCall = batch.Call[suspendRequest, struct{}]

func (r suspendRequest) weight() int { return len(r.sessionEpochs) }

func (r suspendRequest) bytes() (n int) {
	for _, e := range r.sessionEpochs {
		n += textBytes(e.ID)
	}
	return n
}

// suspendSessions suspends sessions of one region in one transaction.
func (s *Store) suspendSessions(ctx context.Context, region string, calls []*suspendCall) error {
	err := s.onSessions(ctx, region, func(t *sessionTx) error { return t.suspendCalls(ctx, calls) })
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(struct{}{}, nil)
	}
	return nil
}

// suspendCalls suspends those sessions of the calls that are connected under the epoch that the call names.
func (t *sessionTx) suspendCalls(ctx context.Context, calls []*suspendCall) error {
	var ids []string
	for _, c := range calls {
		for _, e := range c.Req.sessionEpochs {
			ids = append(ids, e.ID)
		}
	}
	rows, err := t.lock(ctx, ids)
	if err != nil {
		return err
	}
	awayActions := make(map[string]func(string) lobby.Action)
	var suspended query.SuspendRealtimeSessionsParams
	for _, c := range calls {
		for _, e := range c.Req.sessionEpochs {
			// Of two calls that name a session, the first one decides.
			if _, named := awayActions[e.ID]; named {
				continue
			}
			// The session has ended, another connection owns it, or it is suspended already.
			row, exists := rows[e.ID]
			if !exists || row.Epoch != e.Epoch || row.Owner == nil {
				continue
			}
			awayActions[e.ID] = c.Req.how.AwayAction
			suspended.Ids = append(suspended.Ids, e.ID)
			suspended.Announced = append(suspended.Announced, c.Req.how.IsAnnounced)
			suspended.Silences = append(suspended.Silences, c.Req.how.SilentFor)
		}
	}
	return t.suspendLocked(ctx, suspended, func(session string) lobby.Action { return awayActions[session](session) })
}

// suspendLocked suspends sessions that the transaction has locked, pauses their tickets, and lets away act in the rooms
// of the announced ones. It sets the region of p.
func (t *sessionTx) suspendLocked(ctx context.Context, p query.SuspendRealtimeSessionsParams,
	away func(session string) lobby.Action) error {
	if len(p.Ids) == 0 {
		return nil
	}
	p.Region = t.region
	query.QueueExec(t.q.Deferred(), (*query.Queries).SuspendRealtimeSessions, p)
	var announced []string
	for i, id := range p.Ids {
		// A worker announces the others: see Suspension.IsAnnounced.
		if p.Announced[i] {
			announced = append(announced, id)
		}
	}
	if len(announced) > 0 {
		if _, err := t.actInRooms(ctx, announced, joinedRooms, away); err != nil {
			return err
		}
	}
	t.store.pauseTicketsOf(t.q, t.region, p.Ids)
	return nil
}
