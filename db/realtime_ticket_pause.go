package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// pauseSessions defers statements that pause the tickets of sessions which this transaction suspends, or with pause
// false resume the tickets of sessions which it attaches: those without another suspended session. Call notifyTickets
// after the commit.
func (s *Store) pauseSessions(q *query.Queries, region string, sessions []string, pause bool) {
	if len(sessions) == 0 {
		return
	}
	query.QueueExec(q.Deferred(), (*query.Queries).HoldTicketsOfSessions,
		query.HoldTicketsOfSessionsParams{Region: region, Sessions: sessions})
	query.QueueExec(q.Deferred(), (*query.Queries).PauseTicketsOfSessions, query.PauseTicketsOfSessionsParams{
		Region: region, Sessions: sessions, Pause: pause, PendingFor: s.cfg.Timing.PendingFor,
	})
}

// leaveSessions takes the tickets of sessions that this transaction ends out of the queue. A room that queued with one
// learns of it from a worker. Call notifyTickets after the commit. Errors: a conflict where a match was committed
// meanwhile, whose room invites the sessions by now: the transaction must be repeated.
func (s *Store) leaveSessions(ctx context.Context, q *query.Queries, region string, sessions []string) error {
	t := s.newQueueTurn(q, s.sessionUniverse(), region)
	t.awareSessions = sessions
	if err := t.read(ctx, &tx.Pipeline{}, nil, sessions, nil); err != nil {
		return err
	}
	for _, r := range t.waitingSessions {
		t.leave(r, reasonEnded)
	}
	return t.write(ctx)
}

// reasonEnded is the reason of a ticket that leaves the queue since a session has ended.
const reasonEnded = "client_gone"

// notifyTickets wakes those that follow the queue, after a commit that changed tickets of sessions.
func (s *Store) notifyTickets() {
	if c := s.cfg.Queueing; c != nil {
		s.notifyQueue(c.Universe, true, true)
	}
}
