package db

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

// Backfill is a request of a running match for more players. Its body belongs to the protocol; this package does not
// read it.
type Backfill struct {
	ID         string
	Body       []byte // an openmatch.Backfill with its id and time and without its generation
	Generation int64  // 1 when it is created, and one more after each change
	CreatedAt  time.Time
}

// storedBackfill returns the backfill of a row. created is in nanoseconds since 1970.
func storedBackfill(id string, body []byte, generation, created int64) Backfill {
	return Backfill{ID: id, Body: body, Generation: generation, CreatedAt: time.Unix(0, created).UTC()}
}

// NewBackfill is the contents of a backfill to create or change.
type NewBackfill struct {
	SearchFields match.Fields // that pools filter by; the store fills in Created
	// EncodeBody returns the body. It is called again, with another id, when the first id is in use.
	EncodeBody func(id string, created time.Time) []byte
}

// encode returns what the row of the backfill stores.
func (b NewBackfill) encode(id string, created time.Time) (indexed match.Row, body []byte) {
	fields := b.SearchFields
	fields.Created = match.MomentOf(created)
	return fields.Row(), b.EncodeBody(id, created)
}

// backfillTTL is how long after its last acknowledgement a backfill expires. By default it is four fifths of
// PendingFor, as in Open Match, so that a backfill expires before the tickets that are matched into it are free again.
func (t Timing) backfillTTL() time.Duration { return cmp.Or(t.BackfillFor, t.PendingFor) * 4 / 5 }

// CreateBackfill creates a backfill. Errors: Unavailable.
func (s *Store) CreateBackfill(ctx context.Context, region string, b NewBackfill) (Backfill, error) {
	for range frame.MaxConflictRetries {
		out, p := s.draftBackfill(region, b)
		err := s.q.CreateBackfills(ctx, p)
		if err == nil {
			return out, nil
		}
		// A conflict means that the id is in use.
		if !frame.IsConflict(err) {
			return Backfill{}, frame.Classify(err)
		}
	}
	return Backfill{}, fault.NewUnavailable("each id tried is in use", nil)
}

// draftBackfill returns a new backfill, and the parameters that store it.
func (s *Store) draftBackfill(region string, b NewBackfill) (Backfill, query.CreateBackfillsParams) {
	out := Backfill{Generation: 1, CreatedAt: s.Now().UTC()}
	out.ID = s.idMint.next(region, BackfillID, out.CreatedAt)
	row, body := b.encode(out.ID, out.CreatedAt)
	out.Body = body
	return out, query.CreateBackfillsParams{
		Region: region, Ids: []string{out.ID}, Created: []int64{row.Created}, Bodies: [][]byte{body},
		Terms: row.Terms, TermsFrom: []int32{1}, TermsTo: []int32{int32(len(row.Terms))},
		DoubleKeys: row.Keys, Doubles: row.Doubles, DoublesFrom: []int32{1}, DoublesTo: []int32{int32(len(row.Keys))},
	}
}

func backfillUnknown(id string) error {
	return fault.New(fault.NotFound, "backfill_unknown", "Backfill id: %s not found", id)
}

// GetBackfill returns a backfill; an expired one as well, until a worker has deleted it. Errors: NotFound, Unavailable.
func (s *Store) GetBackfill(ctx context.Context, region, id string) (Backfill, error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, backfillUnknown(id)
	}
	row, err := s.q.GetBackfill(ctx, query.GetBackfillParams{Region: region, ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Backfill{}, backfillUnknown(id)
	}
	if err != nil {
		return Backfill{}, frame.Classify(err)
	}
	return storedBackfill(row.ID, row.Body, row.Generation, row.Created), nil
}

// TicketsOfBackfill returns the tickets that are matched into a backfill, by their ids, and not those that it has
// assigned. The backfill does not change meanwhile. Errors: NotFound, Unavailable.
func (s *Store) TicketsOfBackfill(ctx context.Context, region, id string) (tickets []Ticket, err error) {
	if !IssuedHere(region, BackfillID, id) {
		return nil, backfillUnknown(id)
	}
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		// A retried transaction begins anew.
		tickets = nil
		locked, err := q.LockBackfills(ctx,
			query.LockBackfillsParams{Region: region, Ids: []string{id}, AckedFor: s.cfg.Timing.backfillTTL()})
		if err != nil {
			return err
		}
		if len(locked) == 0 {
			return backfillUnknown(id)
		}
		// While the backfill is locked, no acceptance can match further tickets into it.
		ids, err := q.TicketsOfBackfill(ctx, query.TicketsOfBackfillParams{Region: region, BackfillIds: []string{id}})
		if err != nil || len(ids) == 0 {
			return err
		}
		tickets, err = readTickets(ctx, q, region, ids, s.cfg.Timing)
		return err
	})
	if err != nil {
		return nil, frame.Classify(err)
	}
	slices.SortFunc(tickets, func(a, b Ticket) int { return strings.Compare(a.ID, b.ID) })
	return tickets, nil
}

// lockBackfill locks a backfill that has not expired. acknowledged are the tickets that acknowledgements have assigned
// at its present generation. expired is the text of the error for an expired backfill, with a verb for its id. Errors:
// NotFound; Conflict, with that text; Unavailable.
func lockBackfill(ctx context.Context, q *query.Queries, region, id string, t Timing,
	expired string) (b Backfill, acknowledged []string, err error) {
	rows, err := q.LockBackfills(ctx, query.LockBackfillsParams{Region: region, Ids: []string{id},
		AckedFor: t.backfillTTL()})
	switch {
	case err != nil:
		return Backfill{}, nil, err
	case len(rows) == 0:
		return Backfill{}, nil, backfillUnknown(id)
	case !rows[0].Alive:
		return Backfill{}, nil, fault.New(fault.Conflict, "backfill_expired", expired, id)
	}
	r := rows[0]
	return storedBackfill(r.ID, r.Body, r.Generation, r.Created), r.Acknowledged, nil
}

// UpdateBackfill replaces the contents of a backfill by what change returns, and raises its generation. Tickets that
// are matched into it return to the queue. An update does not postpone its expiry. change may be called more than once.
// Errors: NotFound; Conflict for an expired backfill; Unavailable; change's.
func (s *Store) UpdateBackfill(ctx context.Context, region, id string,
	change func(old Backfill) (NewBackfill, error)) (Backfill, error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, backfillUnknown(id)
	}
	var out Backfill
	err := s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		old, _, err := lockBackfill(ctx, q, region, id, s.cfg.Timing, "can not update an expired backfill, id: %s")
		if err != nil {
			return err
		}
		b, err := change(old)
		if err != nil {
			return err
		}
		// Released before the generation rises: a match function that reads the new generation may use these tickets
		// for it again.
		if err := releaseTicketsOfBackfills(ctx, q, region, id); err != nil {
			return err
		}
		row, body := b.encode(id, old.CreatedAt)
		out = Backfill{ID: id, Body: body, Generation: old.Generation + 1, CreatedAt: old.CreatedAt}
		query.QueueExec(q.Deferred(), (*query.Queries).PutBackfill, query.PutBackfillParams{
			Region: region, ID: id, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: body,
		})
		return nil
	})
	if err != nil {
		return Backfill{}, frame.Classify(err)
	}
	s.notifyQueued(region)
	return out, nil
}

// releaseTicketsOfBackfills returns the tickets of backfills, which this transaction has locked, to the queue. It locks
// the tickets, in their order, before it reads which backfills they are associated with: another transaction may be
// matching a ticket again whose time in the match has passed.
func releaseTicketsOfBackfills(ctx context.Context, q *query.Queries, region string, backfills ...string) error {
	of := query.TicketsOfBackfillParams{Region: region, BackfillIds: backfills}
	if err := q.LockTicketsOfBackfill(ctx, query.LockTicketsOfBackfillParams(of)); err != nil {
		return err
	}
	ids, err := q.TicketsOfBackfill(ctx, of)
	if err != nil || len(ids) == 0 {
		return err
	}
	return q.ReleaseTickets(ctx, query.ReleaseTicketsParams{Region: region, Ids: ids})
}

// AcknowledgeBackfill postpones the expiry of a backfill, and assigns the tickets that are matched into it. It returns
// these, and those that it has assigned before at the same generation: a caller repeats the call when the answer was
// lost. A match that adds tickets also raises the generation. Errors: NotFound; Conflict for an expired backfill;
// Unavailable.
func (s *Store) AcknowledgeBackfill(ctx context.Context, region, id string,
	assignment []byte) (b Backfill, assigned []Ticket, err error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, nil, backfillUnknown(id)
	}
	var matched []string
	err = s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) (err error) {
		var earlier []string
		b, earlier, err = lockBackfill(ctx, q, region, id, s.cfg.Timing,
			"can not acknowledge an expired backfill, id: %s")
		if err != nil {
			return err
		}
		// A retried transaction begins anew.
		assigned = nil
		if matched, err = assignTicketsOfBackfill(ctx, q, region, id, assignment, s.cfg.Timing); err != nil {
			return err
		}
		// The caller may have lost the answer of an earlier call, so this answer has its tickets as well.
		if all := slices.Concat(earlier, matched); len(all) > 0 {
			if assigned, err = readTickets(ctx, q, region, all, s.cfg.Timing); err != nil {
				return err
			}
		}
		deferAcknowledgement(q, region, id, assigned)
		return nil
	})
	if err != nil {
		return Backfill{}, nil, frame.Classify(err)
	}
	// A call that assigned no ticket has changed nothing that others follow.
	if len(matched) > 0 {
		s.Notify(TopicTickets, region)
	}
	return b, assigned, nil
}

// deferAcknowledgement defers the statement that acknowledges a backfill with the tickets that are assigned.
func deferAcknowledgement(q *query.Queries, region, id string, assigned []Ticket) {
	p := query.AckBackfillParams{Region: region, ID: id, Acknowledged: make([]string, 0, len(assigned))}
	for _, ticket := range assigned {
		p.Acknowledged = append(p.Acknowledged, ticket.ID)
	}
	query.QueueExec(q.Deferred(), (*query.Queries).AckBackfill, p)
}

// assignTicketsOfBackfill assigns the tickets that are matched into a backfill, and returns their ids. It locks them
// first, as releaseTicketsOfBackfills does.
func assignTicketsOfBackfill(ctx context.Context, q *query.Queries, region, id string, assignment []byte,
	t Timing) ([]string, error) {
	of := query.TicketsOfBackfillParams{Region: region, BackfillIds: []string{id}}
	if err := q.LockTicketsOfBackfill(ctx, query.LockTicketsOfBackfillParams(of)); err != nil {
		return nil, err
	}
	ids, err := q.TicketsOfBackfill(ctx, of)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	p := query.SettleTicketsParams{Region: region, Ids: ids}
	for range ids {
		p.Assignments = append(p.Assignments, assignment)
	}
	_, err = settleTickets(ctx, q, p, t.AssignedFor)
	return ids, err
}

// DeleteBackfill deletes a backfill. The tickets that are matched into it return to the queue. An unknown id is no
// error. Errors: Unavailable.
func (s *Store) DeleteBackfill(ctx context.Context, region, id string) error {
	if !IssuedHere(region, BackfillID, id) {
		return nil
	}
	err := s.frame.InBulkTxWithRetries(ctx, func(q *query.Queries) error {
		locked, err := q.LockBackfills(ctx,
			query.LockBackfillsParams{Region: region, Ids: []string{id}, AckedFor: s.cfg.Timing.backfillTTL()})
		if err != nil || len(locked) == 0 {
			return err
		}
		return deleteBackfills(ctx, q, region, id)
	})
	if err != nil {
		return frame.Classify(err)
	}
	s.notifyQueued(region)
	return nil
}

// deleteBackfills deletes locked backfills, and returns their tickets to the queue.
func deleteBackfills(ctx context.Context, q *query.Queries, region string, ids ...string) error {
	if err := releaseTicketsOfBackfills(ctx, q, region, ids...); err != nil {
		return err
	}
	return q.DeleteBackfills(ctx, query.DeleteBackfillsParams{Region: region, Ids: ids})
}
