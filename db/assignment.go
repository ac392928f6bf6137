package db

import (
	"context"
	"errors"
	"slices"
	"time"
)

// Assignment says where tickets are to play.
type Assignment struct {
	Tickets    []string
	Assignment []byte // an openmatch.Assignment
}

var errSomeMissing = errors.New("some tickets are not there")

// AssignTickets assigns tickets, including those that were assigned before, whose time then starts again. It does not check
// whether they were matched. No ticket may be named twice. It returns the tickets that do not exist; with allOrNone
// nothing is assigned then. All of it is one transaction. Errors: Unavailable.
func (s *Store) AssignTickets(ctx context.Context, region string, groups []Assignment, allOrNone bool) (missing []string, err error) {
	var p SettleTicketsParams
	p.Region = region
	var foreign []string
	for _, g := range groups {
		for _, id := range g.Tickets {
			if !IssuedHere(region, TicketID, id) {
				foreign = append(foreign, id)
				continue
			}
			p.Ids, p.Assignments = append(p.Ids, id), append(p.Assignments, g.Assignment)
		}
	}
	if allOrNone && len(foreign) > 0 {
		return foreign, nil
	}
	if len(p.Ids) == 0 {
		return foreign, nil
	}
	err = s.inBulkTxWithRetries(ctx, func(q *Queries) (err error) {
		missing, err = q.settle(ctx, p, s.cfg.Timing.AssignedFor)
		if err == nil && allOrNone && len(missing) > 0 {
			return errSomeMissing
		}
		return err
	})
	if err != nil && !errors.Is(err, errSomeMissing) {
		return nil, classify(err)
	}
	s.Notify(TopicTickets, region)
	return append(foreign, missing...), nil
}

// settle assigns tickets, and answers those that are not there.
func (q *Queries) settle(ctx context.Context, p SettleTicketsParams, assignedFor time.Duration) (missing []string, err error) {
	settled, err := q.SettleTickets(ctx, p)
	if err != nil || len(settled) == len(p.Ids) {
		return nil, err
	}
	again := ReassignParams{Region: p.Region, AssignedFor: assignedFor}
	done := setOf(settled)
	for i, id := range p.Ids {
		if !done[id] {
			again.Ids, again.Assignments = append(again.Ids, id), append(again.Assignments, p.Assignments[i])
		}
	}
	settled, err = q.Reassign(ctx, again)
	done = setOf(settled)
	return slices.DeleteFunc(again.Ids, func(id string) bool { return done[id] }), err
}

func setOf(ids []string) map[string]bool {
	set := make(map[string]bool, len(ids))
	for _, id := range ids {
		set[id] = true
	}
	return set
}

// ReleaseTickets gives tickets of matches back to the queue. Others, and ids that are not known, are left as they are.
// Errors: Unavailable.
func (s *Store) ReleaseTickets(ctx context.Context, region string, ids []string) error {
	ids = issuedTickets(region, ids)
	if len(ids) == 0 {
		return nil
	}
	return classify(s.inBulkTxWithRetries(ctx, func(q *Queries) error {
		if err := q.HoldMatched(ctx, HoldMatchedParams{Region: region, Ids: ids}); err != nil {
			return err
		}
		queueExec(q.deferred(), (*Queries).ReleaseTickets, ReleaseTicketsParams{Region: region, Ids: ids})
		return nil
	}))
}

// releasePage is how many tickets are given back at a time: others wait for their rows for about 50 ms.
const releasePage = 2000

// ReleaseAllTickets gives all tickets of matches back to the queue, a page after the other. Where it fails, some are back and
// the others are left to the next call. Errors: Unavailable.
func (s *Store) ReleaseAllTickets(ctx context.Context, region string) error {
	p := MatchedTicketsParams{Region: region, Page: releasePage}
	for {
		ids, err := s.q.MatchedTickets(ctx, p)
		if err != nil {
			return classify(err)
		}
		if err := s.ReleaseTickets(ctx, region, ids); err != nil || len(ids) < releasePage {
			return err
		}
		p.After = ids[len(ids)-1]
	}
}
