package db

import (
	"context"
	"errors"
	"slices"

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
	_, err := s.batchGroups.ticketDeletes.Do(ctx, region, id)
	return err
}

// deleteTicketBatch decides a batch of deletions in one transaction.
func (s *Store) deleteTicketBatch(ctx context.Context, region string, calls []*batch.Call[string, struct{}]) error {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Req)
	}
	if err := s.deleteTogether(ctx, region, ids); err != nil {
		return err
	}
	for _, c := range calls {
		c.Answer(struct{}{}, nil)
	}
	return nil
}

// deletedAtOnce bounds the tickets that one transaction of [Store.DeleteTickets] deletes.
const deletedAtOnce = 1000

// DeleteTickets is [Store.DeleteTicket] for several tickets, in transactions of up to 1,000. After an error some of
// them may be deleted; a repeated call deletes the others. Errors: Unavailable.
func (s *Store) DeleteTickets(ctx context.Context, region string, ids []string) error {
	for part := range slices.Chunk(issuedTickets(region, ids), deletedAtOnce) {
		if err := s.deleteTogether(ctx, region, part); err != nil {
			return frame.Classify(err)
		}
	}
	return nil
}

// deleteTogether deletes tickets in one transaction.
func (s *Store) deleteTogether(ctx context.Context, region string, ids []string) error {
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		// Two statements: the second has to see tickets that were assigned while the first waited for their rows.
		_, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: region, Ids: ids})
		query.QueueExec(q.Deferred(), (*query.Queries).DeleteAssigned,
			query.DeleteAssignedParams{Region: region, Ids: ids})
		return err
	})
	if err == nil {
		s.Notify(TopicTickets, region)
	}
	return err
}

// Cancelled is the result of cancelling a ticket. Either IsCancelled is true, or one of the others says why not.
type Cancelled struct {
	IsCancelled    bool    // the ticket was queued and in no match, and is deleted
	MatchedIn      []byte  // the match in which the ticket is: the cycle's id (16 bytes) and the match_id
	AssignedTicket *Ticket // the ticket, which is assigned already
}

// CancelTicket deletes a queued ticket unless it is in a match. The result is final on all replicas: a cancelled ticket
// can be in no match. Errors: NotFound, Unavailable.
func (s *Store) CancelTicket(ctx context.Context, region, id string) (Cancelled, error) {
	if !IssuedHere(region, TicketID, id) {
		return Cancelled{}, ticketUnknown(id)
	}
	row, err := s.q.CancelTicket(ctx, query.CancelTicketParams{Region: region, ID: id,
		PendingFor: s.cfg.Timing.PendingFor})
	// The ticket is not queued: it was assigned, or there is none.
	if errors.Is(err, pgx.ErrNoRows) {
		t, err := s.GetTicket(ctx, region, id)
		return Cancelled{AssignedTicket: &t}, err
	}
	if err != nil {
		return Cancelled{}, frame.Classify(err)
	}
	if !row.Cancelled {
		return Cancelled{MatchedIn: row.MatchedIn}, nil
	}
	s.Notify(TopicTickets, region)
	return Cancelled{IsCancelled: true}, nil
}
