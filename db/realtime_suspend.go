package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/lobby"
)

// SuspendRealtime records that sessions have lost their connections, and pauses their tickets. A session with another
// epoch stays as it is. With announce, away acts in all their rooms at once; without it a worker lets it act after five
// seconds, unless the session is resumed by then. Nothing was heard of the clients for the time silence. Errors:
// Unavailable.
func (s *Store) SuspendRealtime(ctx context.Context, region string, sessions []SessionEpoch,
	away func(session string) lobby.Action, announce bool, silence time.Duration) error {
	for part := range slices.Chunk(sessions, suspendedAtOnce) {
		if _, err := s.batchGroups.suspensions.Do(ctx, region, suspension{part, away, announce, silence}); err != nil {
			return err
		}
	}
	return nil
}

// suspendedAtOnce bounds the sessions of a transaction, which reads and writes all their rooms.
const suspendedAtOnce = 256

type suspension struct {
	sessionEpochs []SessionEpoch
	awayAction    func(session string) lobby.Action
	isAnnounced   bool
	silentFor     time.Duration
}

type suspendCall = batch.Call[suspension, struct{}]

func (s suspension) weight() int { return len(s.sessionEpochs) }

func (s suspension) bytes() (n int) {
	for _, e := range s.sessionEpochs {
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

// suspendCalls suspends the sessions of calls whose epoch is still theirs.
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
			row, ok := rows[e.ID]
			// Another connection owns it, it is suspended already, or two calls name it: the first one decides.
			if _, again := awayActions[e.ID]; again || !ok || row.Epoch != e.Epoch || row.Owner == nil {
				continue
			}
			awayActions[e.ID] = c.Req.awayAction
			suspended.Ids = append(suspended.Ids, e.ID)
			suspended.Announced = append(suspended.Announced, c.Req.isAnnounced)
			suspended.Silences = append(suspended.Silences, c.Req.silentFor)
		}
	}
	return t.suspendLocked(ctx, suspended, func(session string) lobby.Action { return awayActions[session](session) })
}

// suspendLocked suspends sessions that the transaction has locked, and lets the rooms of announced ones know.
func (t *sessionTx) suspendLocked(ctx context.Context, p query.SuspendRealtimeSessionsParams,
	away func(session string) lobby.Action) error {
	if len(p.Ids) == 0 {
		return nil
	}
	p.Region = t.region
	query.QueueExec(t.q.Deferred(), (*query.Queries).SuspendRealtimeSessions, p)
	var announced []string
	for i, id := range p.Ids {
		// The others are announced by a worker, if they have not been resumed by then.
		if p.Announced[i] {
			announced = append(announced, id)
		}
	}
	if len(announced) > 0 {
		if _, err := t.inRooms(ctx, announced, false, away); err != nil {
			return err
		}
	}
	// Their tickets stay in the queue and are no candidates.
	t.store.pauseSessions(t.q, t.region, p.Ids, true)
	return nil
}
