package db

import (
	"context"
	"slices"
	"strings"

	"github.com/lattice-director/director/db/query"
)

// leavingTicket is a ticket that leaves the queue.
type leavingTicket struct {
	ticketID    string
	finalState  TicketState
	finalReason string
	isForced    bool // it leaves even if it is in a match
}

// leaveQueue takes tickets out of the queue, defers their rows of history, and returns those that it has taken out. A
// ticket may be listed twice.
func (s *Store) leaveQueue(ctx context.Context, q *query.Queries, region string,
	tickets []leavingTicket) ([]query.LeaveQueueRow, error) {
	p := query.LeaveQueueParams{Region: region, PendingFor: s.cfg.Timing.PendingFor}
	for _, t := range tickets {
		// Once each: a player may leave, and the ticket be replaced, in one turn. The first reason counts.
		if !slices.Contains(p.Ids, t.ticketID) {
			p.Ids = append(p.Ids, t.ticketID)
			p.States = append(p.States, string(t.finalState))
			p.Reasons = append(p.Reasons, t.finalReason)
			p.Forced = append(p.Forced, t.isForced)
		}
	}
	if len(p.Ids) == 0 {
		return nil, nil
	}
	rows, err := q.LeaveQueue(ctx, p)
	if err != nil {
		return nil, err
	}
	s.recordHistory(q, region, rows)
	return rows, nil
}

// recordHistory defers the rows of history of tickets that have left.
func (s *Store) recordHistory(q *query.Queries, region string, rows []query.LeaveQueueRow) {
	// Only the caller of Open can decode the body of a ticket: without it, there are no facts to keep.
	if s.cfg.NoHistory || s.cfg.DescribeTicket == nil || len(rows) == 0 {
		return
	}
	p := query.RecordHistoryParams{Region: region}
	for _, r := range rows {
		// A ticket of an Open Match client: the director does not know its players.
		if len(r.Party) == 0 {
			continue
		}
		facts := s.cfg.DescribeTicket(r.Body, r.Party)
		p.Ids = append(p.Ids, r.ID)
		p.Created = append(p.Created, r.Created)
		p.Outcomes = append(p.Outcomes, r.State)
		p.Profiles = append(p.Profiles, strings.Join(r.Profiles, "\n"))
		p.Parties = append(p.Parties, strings.Join(facts.Party, "\n"))
		p.Attributes = append(p.Attributes, string(facts.Attributes))
		p.Latencies = append(p.Latencies, string(facts.Latencies))
	}
	query.QueueExec(q.Deferred(), (*query.Queries).RecordHistory, p)
}
