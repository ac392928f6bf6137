package db

import (
	"context"
	"slices"
	"time"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
)

// leftTickets returns the tickets of a committed match whose history is kept, with the times of their locked rows.
func (t *matchTx) leftTickets(s seatedMatch, free map[string]query.LockMatchTicketsRow) (all []LeftTicket) {
	for _, k := range s.call.match.Tickets {
		if row := free[k.ID]; k.History != nil && !t.committer.store.cfg.NoHistory {
			all = append(all, LeftTicket{Ticket: k, CreatedNanos: row.Created, LeftAt: row.Now,
				ProfileName: s.call.match.Profile,
				MatchID:     s.call.match.ID})
		}
	}
	return all
}

// historyPage is how many tickets a transaction over their history writes.
const historyPage = 2048

// KeepTickets inserts the history of tickets that were assigned. A ticket that is there already stays as it is, so that
// a call whose outcome is unknown may be repeated. It leaves out tickets whose data Postgres refuses, and returns how
// many. Errors: Unavailable.
func (s *Store) KeepTickets(ctx context.Context, universe string, tickets []LeftTicket) (refused int, err error) {
	for page := range slices.Chunk(tickets, historyPage) {
		n, err := s.keepHistory(ctx, universe, page)
		refused += n
		if err != nil {
			return refused, frame.Classify(err)
		}
	}
	return refused, nil
}

// keepHistory inserts the history of tickets. After an error of the data it tries them by halves, until the bad ticket
// is alone.
func (s *Store) keepHistory(ctx context.Context, universe string, tickets []LeftTicket) (refused int, err error) {
	arg := query.KeepTicketsParams{Universe: universe, Outcome: "assigned"}
	for _, k := range tickets {
		addTicketToKeep(&arg, k)
	}
	err = s.frame.InBulkTx(ctx, func(q *query.Queries) error { return q.KeepTickets(ctx, arg) })
	if !frame.IsDataError(err) {
		return 0, err
	}
	if len(tickets) == 1 {
		return 1, nil
	}
	// Halves find one bad row of n in about 2·log(n) further transactions.
	half := len(tickets) / 2
	for _, part := range [][]LeftTicket{tickets[:half], tickets[half:]} {
		n, err := s.keepHistory(ctx, universe, part)
		refused += n
		if err != nil {
			return refused, err
		}
	}
	return refused, nil
}

// addTicketToKeep adds a ticket whose history is kept.
func addTicketToKeep(p *query.KeepTicketsParams, k LeftTicket) {
	h := k.Ticket.History
	p.Ids = append(p.Ids, k.Ticket.ID)
	p.Created = append(p.Created, k.CreatedNanos)
	p.SeenAt = append(p.SeenAt, orEpoch(h.SeenAt))
	p.LeftAt = append(p.LeftAt, orEpoch(k.LeftAt))
	p.Attributes = append(p.Attributes, string(h.Attributes))
	p.Latencies = append(p.Latencies, string(h.Latencies))
	p.DecidedBy = append(p.DecidedBy, k.ProfileName)
	p.Matches = append(p.Matches, k.MatchID)
	p.Profiles = append(p.Profiles, textArray(h.Profiles))
	p.Parties = append(p.Parties, textArray(h.Party))
}

// orEpoch returns the time, the Unix epoch for none.
func orEpoch(at time.Time) time.Time {
	if at.IsZero() {
		return time.Unix(0, 0)
	}
	return at
}
