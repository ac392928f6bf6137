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

// inEvacuation runs fn in a transaction that holds the evacuation; it runs nothing if another transaction does, or the
// evacuation has ended.
func (s *Store) inEvacuation(ctx context.Context, id uuid.UUID,
	fn func(q *query.Queries, e query.HoldEvacuationRow) error) error {
	return s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		held, err := q.HoldEvacuation(ctx, id)
		if err != nil || len(held) == 0 {
			return err
		}
		return fn(q, held[0])
	})
}

// The sizes of the transactions of an evacuation. Calls that wait for one of its rows wait for some 100 ms.
const (
	evacuatedSessions = 64
	evacuatedPlayers  = 1000 // of these sessions
	evacuatedServers  = 16
	evacuatedTickets  = 1000
	evacuatedParties  = 256
)
