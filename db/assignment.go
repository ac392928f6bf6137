package db

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// Assignment is the assignment of a group of tickets.
type Assignment struct {
	TicketIDs         []string
	EncodedAssignment []byte // an openmatch.Assignment
}

// Assignments are the groups of one call of [Store.AssignTickets]. No ticket may be named twice.
type Assignments struct {
	Groups    []Assignment
	AllOrNone bool // nothing is assigned if a ticket does not exist
}

// errSomeMissing rolls back the assignments of the tickets that exist.
var errSomeMissing = errors.New("some tickets do not exist")

// AssignTickets assigns tickets in one transaction. A ticket that is assigned already gets the new assignment, which
// restarts the time for which it is kept. Whether the tickets are in a match is not checked. AssignTickets
// returns the tickets that do not exist. Errors: Unavailable.
func (s *Store) AssignTickets(ctx context.Context, region string, a Assignments) (missing []string, err error) {
	var p query.SettleTicketsParams
	p.Region = region
	var unissued []string
	for _, g := range a.Groups {
		for _, id := range g.TicketIDs {
			if !IssuedHere(region, TicketID, id) {
				unissued = append(unissued, id)
				continue
			}
			p.Ids = append(p.Ids, id)
			p.Assignments = append(p.Assignments, g.EncodedAssignment)
		}
	}
	// Nothing can be assigned, or nothing may be.
	if len(p.Ids) == 0 || a.AllOrNone && len(unissued) > 0 {
		return unissued, nil
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) (err error) {
		missing, err = settleTickets(ctx, q, p, s.cfg.Timing.AssignedFor)
		if err != nil {
			return err
		}
		if a.AllOrNone && len(missing) > 0 {
			return errSomeMissing
		}
		return nil
	})
	if errors.Is(err, errSomeMissing) {
		return missing, nil
	}
	if err != nil {
		return nil, frame.Classify(err)
	}
	s.Notify(TopicTickets, region)
	return append(unissued, missing...), nil
}

// settleTickets assigns tickets, and returns those that do not exist.
func settleTickets(ctx context.Context, q *query.Queries, p query.SettleTicketsParams,
	assignedFor time.Duration) (missing []string, err error) {
	settledIDs, err := q.SettleTickets(ctx, p)
	if err != nil || len(settledIDs) == len(p.Ids) {
		return nil, err
	}
	// The others are assigned already, or do not exist. Some may have been assigned while SettleTickets waited for
	// their rows: only a statement with a newer snapshot finds these.
	others := query.ReassignTicketsParams{Region: p.Region, AssignedFor: assignedFor}
	settled := setOf(settledIDs)
	for i, id := range p.Ids {
		if !settled[id] {
			others.Ids = append(others.Ids, id)
			others.Assignments = append(others.Assignments, p.Assignments[i])
		}
	}
	reassignedIDs, err := q.ReassignTickets(ctx, others)
	if err != nil {
		return nil, err
	}
	reassigned := setOf(reassignedIDs)
	return slices.DeleteFunc(others.Ids, func(id string) bool { return reassigned[id] }), nil
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// ReleaseTickets returns tickets that are in a match to the queue. It ignores other tickets and unknown ids. Errors:
// Unavailable.
func (s *Store) ReleaseTickets(ctx context.Context, region string, ids []string) error {
	ids = issuedTickets(region, ids)
	if len(ids) == 0 {
		return nil
	}
	err := s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// The tickets are locked by a statement of their own, so that ReleaseTickets reads their backfills after it has
		// waited for all locks.
		if err := q.LockMatchedTickets(ctx, query.LockMatchedTicketsParams{Region: region, Ids: ids}); err != nil {
			return err
		}
		query.QueueExec(q.Deferred(), (*query.Queries).ReleaseTickets,
			query.ReleaseTicketsParams{Region: region, Ids: ids})
		return nil
	})
	if err != nil {
		return frame.Classify(err)
	}
	s.notifyQueued(region)
	return nil
}

// releasePage is how many tickets one transaction of ReleaseAllTickets releases. It holds their locks for about 50 ms.
const releasePage = 2000

// ReleaseAllTickets returns all tickets of a region that are in a match to the queue, one page after the other. A call
// that fails may have released some of them; the next call releases the others. Errors: Unavailable.
func (s *Store) ReleaseAllTickets(ctx context.Context, region string) error {
	p := query.MatchedTicketsParams{Region: region, Page: releasePage}
	for {
		ids, err := s.q.MatchedTickets(ctx, p)
		if err != nil {
			return frame.Classify(err)
		}
		if err := s.ReleaseTickets(ctx, region, ids); err != nil || len(ids) < releasePage {
			return err
		}
		p.After = ids[len(ids)-1]
	}
}
