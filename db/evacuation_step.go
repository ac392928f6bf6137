package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/query"
)

// EvacuationStep counts what [Store.StepEvacuation] did.
type EvacuationStep struct {
	ClosedSessions  int
	ReleasedPlayers int // players who lost their seats, or had lost them before
	EmptiedServers  int // game servers without sessions
	EndedServers    int // those of them that were ended
	QueuedPlayers   int // players who got a ticket
	SeatedPlayers   int // players who got a seat elsewhere
	StrandedPlayers int // players who got neither
}

// IsIdle reports whether a step found nothing to do.
func (s EvacuationStep) IsIdle() bool { return s == EvacuationStep{} }

// inEvacuation runs fn in a transaction that has locked the evacuation. It does not run fn if another transaction has
// locked the evacuation, or the evacuation has ended.
func (s *Store) inEvacuation(ctx context.Context, id uuid.UUID,
	fn func(q *query.Queries, e query.HoldEvacuationRow) error) error {
	return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		locked, err := q.HoldEvacuation(ctx, id)
		if err != nil || len(locked) == 0 {
			return err
		}
		return fn(q, locked[0])
	})
}

// How much one transaction of an evacuation changes at most, so that calls that need one of its rows wait for some
// 100 ms.
const (
	evacuatedSessions = 64
	evacuatedPlayers  = 1000 // in these sessions
	evacuatedServers  = 16
	evacuatedTickets  = 1000
	evacuatedParties  = 256
)
