package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// DeleteTicket deletes a queued or assigned ticket. Queries that begin after it returns do not find the ticket. An
// unknown id is no error. Errors: Unavailable.
func (s *Store) DeleteTicket(ctx context.Context, region, id string) error {
	if !IssuedHere(region, TicketID, id) {
		return nil
	}
	_, err := s.groups.ticketDeletes.Do(ctx, region, id)
	return err
}

func (s *Store) deleteBatch(ctx context.Context, region string, calls []*batch.Call[string, struct{}]) error {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Req)
	}
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Two statements: the second has to see tickets that were assigned while the first waited for their rows.
		_, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: region, Ids: ids})
		query.QueueExec(q.Deferred(), (*query.Queries).DeleteAssigned,
			query.DeleteAssignedParams{Region: region, Ids: ids})
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(struct{}{}, nil)
	}
	s.Notify(TopicTickets, region)
	return nil
}

// Cancelled is the result of canceling a ticket.
type Cancelled struct {
	Cancelled bool    // the ticket was queued and in no match, and is deleted
	MatchedIn []byte  // not cancelled: the ticket is in this match, given as the cycle's id (16 bytes) and the match_id
	Assigned  *Ticket // not cancelled: the ticket is assigned already
}

// CancelTicket deletes a queued ticket unless it is in a match. The result is final on all replicas: a cancelled ticket
// can be in no match. Errors: NotFound, Unavailable.
func (s *Store) CancelTicket(ctx context.Context, region, id string) (Cancelled, error) {
	if !IssuedHere(region, TicketID, id) {
		return Cancelled{}, ticketUnknown(id)
	}
	row, err := s.q.CancelTicket(ctx, query.CancelTicketParams{Region: region, ID: id,
		PendingFor: s.cfg.Timing.PendingFor})
	if errors.Is(err, pgx.ErrNoRows) {
		t, err := s.GetTicket(ctx, region, id)
		return Cancelled{Assigned: &t}, err
	}
	if row.Cancelled {
		s.Notify(TopicTickets, region)
		return Cancelled{Cancelled: true}, frame.Classify(err)
	}
	return Cancelled{MatchedIn: row.MatchedIn}, frame.Classify(err)
}
