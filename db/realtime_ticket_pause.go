package db

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

// pauseTicketsOf defers statements that pause the tickets of sessions which this transaction suspends: paused tickets
// stay in the queue and are in no new match. Call notifyTickets after the commit.
func (s *Store) pauseTicketsOf(q *query.Queries, region string, suspended []string) {
	s.deferPause(q, region, suspended, true)
}

// resumeTicketsOf defers statements that end the pause of the tickets of sessions which this transaction connects. A
// ticket that has another suspended session stays paused. Call notifyTickets after the commit.
func (s *Store) resumeTicketsOf(q *query.Queries, region string, connected []string) {
	s.deferPause(q, region, connected, false)
}

func (s *Store) deferPause(q *query.Queries, region string, sessions []string, pause bool) {
	if len(sessions) == 0 {
		return
	}
	query.QueueExec(q.Deferred(), (*query.Queries).HoldTicketsOfSessions,
		query.HoldTicketsOfSessionsParams{Region: region, Sessions: sessions})
	query.QueueExec(q.Deferred(), (*query.Queries).PauseTicketsOfSessions, query.PauseTicketsOfSessionsParams{
		Region: region, Sessions: sessions, Pause: pause, PendingFor: s.cfg.Timing.PendingFor,
	})
}

// dequeueSessions takes the tickets of sessions that this transaction ends out of the queue. A worker notifies the room
// that queued with such a ticket. Call notifyTickets after the commit. Errors: a conflict where a match was committed
// meanwhile, whose room invites the sessions by now: the transaction must be repeated.
func (s *Store) dequeueSessions(ctx context.Context, q *query.Queries, region string, sessions []string) error {
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

// reasonEnded is the reason of a ticket that leaves the queue because one of its sessions has ended.
const reasonEnded = "client_gone"

// notifyTickets wakes those that follow the queue, after a commit that changed tickets of sessions.
func (s *Store) notifyTickets() {
	if c := s.cfg.Queueing; c != nil {
		s.notifyQueued(c.Universe)
		s.notifyLeft(c.Universe)
	}
}
