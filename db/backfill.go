package db

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/match"
)

// Backfill is a game that looks for more players. What it says is its body, which is the protocol's.
type Backfill struct {
	ID         string
	Body       []byte // an openmatch.Backfill with its id and time and without its generation
	Generation int64  // counts its changes from 1 on
	Created    time.Time
}

// storedBackfill is a row; created is in nanoseconds since 1970.
func storedBackfill(id string, body []byte, generation, created int64) Backfill {
	return Backfill{ID: id, Body: body, Generation: generation, Created: time.Unix(0, created).UTC()}
}

// NewBackfill is what a backfill is to say.
type NewBackfill struct {
	Fields match.Fields // what pools choose by; the store fills in Created
	// Encode gives the body.
	Encode func(id string, created time.Time) []byte
}

// row gives what is stored of it.
func (b *NewBackfill) row(id string, created time.Time) (match.Row, []byte) {
	b.Fields.Created = match.MomentOf(created)
	return b.Fields.Row(), b.Encode(id, created)
}

// backfillFor is how long a game that looks for players counts without being heard: four fifths of what its tickets wait
// for it (Open Match has it so), so that it is gone before they are free.
func (t Timing) backfillFor() time.Duration { return t.PendingFor * 4 / 5 }

// CreateBackfill makes a game known that looks for players. Errors: Unavailable.
func (s *Store) CreateBackfill(ctx context.Context, region string, b NewBackfill) (Backfill, error) {
	for range maxConflictRetries {
		out, p := s.draftBackfill(region, b)
		if err := s.q.CreateBackfills(ctx, p); !isConflict(err) { // an id that was given to somebody else: another one
			return out, classify(err)
		}
	}
	return Backfill{}, unavailable("no id is free", nil)
}

// draftBackfill gives a backfill and what creates it.
func (s *Store) draftBackfill(region string, b NewBackfill) (Backfill, CreateBackfillsParams) {
	out := Backfill{Generation: 1, Created: s.Now().UTC()}
	out.ID = s.ids.next(region, BackfillID, out.Created)
	row, body := b.row(out.ID, out.Created)
	out.Body = body
	return out, CreateBackfillsParams{
		Region: region, Ids: []string{out.ID}, Created: []int64{row.Created}, Bodies: [][]byte{body},
		Terms: row.Terms, TermsFrom: []int32{1}, TermsTo: []int32{int32(len(row.Terms))},
		DoubleKeys: row.Keys, Doubles: row.Doubles, DoublesFrom: []int32{1}, DoublesTo: []int32{int32(len(row.Keys))},
	}
}

func backfillUnknown(id string) error {
	return newError(NotFound, "backfill_unknown", "Backfill id: %s not found", id)
}

// GetBackfill gives a backfill, also one that has expired and was not swept yet. Errors: NotFound, Unavailable.
func (s *Store) GetBackfill(ctx context.Context, region, id string) (Backfill, error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, backfillUnknown(id)
	}
	row, err := s.q.GetBackfill(ctx, GetBackfillParams{Region: region, ID: id})
	if errors.Is(err, pgx.ErrNoRows) {
		return Backfill{}, backfillUnknown(id)
	}
	return storedBackfill(row.ID, row.Body, row.Generation, row.Created), classify(err)
}

// lockBackfill locks a backfill that is alive until the end of the transaction. acknowledged are the tickets that were
// assigned to it at its generation.
func (q *Queries) lockBackfill(ctx context.Context, region, id string, t Timing, expired string) (b Backfill, acknowledged []string, err error) {
	rows, err := q.LockBackfills(ctx, LockBackfillsParams{Region: region, Ids: []string{id}, AckedFor: t.backfillFor()})
	switch {
	case err != nil:
		return Backfill{}, nil, err
	case len(rows) == 0:
		return Backfill{}, nil, backfillUnknown(id)
	case !rows[0].Alive:
		return Backfill{}, nil, newError(Unavailable, "backfill_expired", expired, id)
	}
	r := rows[0]
	return storedBackfill(r.ID, r.Body, r.Generation, r.Created), r.Acknowledged, nil
}

// UpdateBackfill replaces what a backfill says by what change makes of it, and counts its generation. Tickets that were
// matched into it wait again. It does not count as being heard of. change may be called more than once. Errors: NotFound;
// Unavailable, also for a backfill that was not heard of for too long; change's.
func (s *Store) UpdateBackfill(ctx context.Context, region, id string, change func(old Backfill) (NewBackfill, error)) (Backfill, error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, backfillUnknown(id)
	}
	var out Backfill
	err := s.inBulkTxWithRetries(ctx, func(q *Queries) error {
		old, _, err := q.lockBackfill(ctx, region, id, s.cfg.Timing, "can not update an expired backfill, id: %s")
		if err != nil {
			return err
		}
		b, err := change(old)
		if err != nil {
			return err
		}
		if err := q.releaseBackfills(ctx, region, id); err != nil {
			return err
		}
		row, body := b.row(id, old.Created)
		out = Backfill{ID: id, Body: body, Generation: old.Generation + 1, Created: old.Created}
		queueExec(q.deferred(), (*Queries).PutBackfill, PutBackfillParams{
			Region: region, ID: id, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: body,
		})
		return nil
	})
	return out, classify(err)
}

// releaseBackfills lets the tickets of backfills, which this transaction holds, wait again. It holds them, all in their
// order, before it reads whose they are: one whose time in the match has run out may just be matched into another.
func (q *Queries) releaseBackfills(ctx context.Context, region string, backfills ...string) error {
	of := TicketsOfBackfillParams{Region: region, BackfillIds: backfills}
	if err := q.LockTicketsOfBackfill(ctx, LockTicketsOfBackfillParams(of)); err != nil {
		return err
	}
	ids, err := q.TicketsOfBackfill(ctx, of)
	if err != nil || len(ids) == 0 {
		return err
	}
	return q.ReleaseTickets(ctx, ReleaseTicketsParams{Region: region, Ids: ids})
}

// AcknowledgeBackfill notes that a game is alive and assigns the tickets that were matched into it. It returns them, and
// those that it assigned earlier at the same generation: a caller whose answer was lost asks again. A match that brings
// tickets brings a new generation. Errors: NotFound; Unavailable, also for a backfill that was not heard of for too long.
func (s *Store) AcknowledgeBackfill(ctx context.Context, region, id string, assignment []byte) (b Backfill, assigned []Ticket, err error) {
	if !IssuedHere(region, BackfillID, id) {
		return Backfill{}, nil, backfillUnknown(id)
	}
	var matched []string
	err = s.inBulkTxWithRetries(ctx, func(q *Queries) (err error) {
		var earlier []string
		b, earlier, err = q.lockBackfill(ctx, region, id, s.cfg.Timing, "can not acknowledge an expired backfill, id: %s")
		if err != nil {
			return err
		}
		if matched, err = q.assignBackfill(ctx, region, id, assignment, s.cfg.Timing); err != nil {
			return err
		}
		assigned, err = q.acknowledge(ctx, region, id, append(earlier, matched...), s.cfg.Timing)
		return err
	})
	if err != nil {
		return Backfill{}, nil, classify(err)
	}
	if len(matched) > 0 {
		s.Notify(TopicTickets, region)
	}
	return b, assigned, nil
}

// acknowledge gives those of the tickets that there still are, and puts off writing which they are.
func (q *Queries) acknowledge(ctx context.Context, region, id string, tickets []string, t Timing) (assigned []Ticket, err error) {
	if len(tickets) > 0 {
		if assigned, err = q.tickets(ctx, region, tickets, t); err != nil {
			return nil, err
		}
	}
	p := AckBackfillParams{Region: region, ID: id, Acknowledged: make([]string, 0, len(assigned))}
	for _, ticket := range assigned {
		p.Acknowledged = append(p.Acknowledged, ticket.ID)
	}
	queueExec(q.deferred(), (*Queries).AckBackfill, p)
	return assigned, nil
}

// assignBackfill assigns the tickets of a backfill, and returns their ids. It locks them before it reads whose they are:
// one whose time in the match has run out may just be matched into another.
func (q *Queries) assignBackfill(ctx context.Context, region, id string, assignment []byte, t Timing) ([]string, error) {
	of := TicketsOfBackfillParams{Region: region, BackfillIds: []string{id}}
	if err := q.LockTicketsOfBackfill(ctx, LockTicketsOfBackfillParams(of)); err != nil {
		return nil, err
	}
	ids, err := q.TicketsOfBackfill(ctx, of)
	if err != nil || len(ids) == 0 {
		return nil, err
	}
	p := SettleTicketsParams{Region: region, Ids: ids}
	for range ids {
		p.Assignments = append(p.Assignments, assignment)
	}
	_, err = q.settle(ctx, p, t.AssignedFor)
	return ids, err
}

// DeleteBackfill takes a backfill out; the tickets that were matched into it wait again. An id that is not known is fine.
// Errors: Unavailable.
func (s *Store) DeleteBackfill(ctx context.Context, region, id string) error {
	if !IssuedHere(region, BackfillID, id) {
		return nil
	}
	return classify(s.inBulkTxWithRetries(ctx, func(q *Queries) error {
		held, err := q.LockBackfills(ctx, LockBackfillsParams{Region: region, Ids: []string{id}, AckedFor: s.cfg.Timing.backfillFor()})
		if err != nil || len(held) == 0 {
			return err
		}
		return q.deleteBackfills(ctx, region, id)
	}))
}

func (q *Queries) deleteBackfills(ctx context.Context, region string, ids ...string) error {
	if err := q.releaseBackfills(ctx, region, ids...); err != nil {
		return err
	}
	return q.DeleteBackfills(ctx, DeleteBackfillsParams{Region: region, Ids: ids})
}

// BackfillQuery reads a pool of backfills part by part, as [TicketQuery] does. It is not safe for concurrent use.
type BackfillQuery struct {
	store  *Store
	params QueryBackfillsParams
	over   bool
}

// QueryBackfills returns the query of what the pool, which passed its Check, holds of the backfills that were acknowledged lately.
func (s *Store) QueryBackfills(region string, p match.Pool) *BackfillQuery {
	query, some := p.Query()
	params := QueryBackfillsParams{
		Region: region, Terms: query.Terms, Present: query.Present, AckedFor: s.cfg.Timing.backfillFor(),
		CreatedAfter: query.After, CreatedBefore: query.Before, Most: partBytes, Rows: partBytes / QueryRowBytes,
	}
	params.RangeKeys, params.Lows, params.Highs = queryKeys(query.Ranges)
	return &BackfillQuery{store: s, params: params, over: !some}
}

// Next returns the next part, nil when there is no more. Errors: TooMany when the connections for readings are all taken,
// Unavailable.
func (q *BackfillQuery) Next(ctx context.Context) (part []Backfill, err error) {
	if q.over {
		return nil, nil
	}
	err = q.store.read(ctx, func(ctx context.Context, read *Queries) error {
		part, err = q.next(ctx, read)
		return err
	})
	return part, err
}

func (q *BackfillQuery) next(ctx context.Context, read *Queries) (part []Backfill, err error) {
	rows, err := read.QueryBackfills(ctx, q.params)
	bytes := 0
	for _, r := range rows {
		part = append(part, storedBackfill(r.ID, r.Body, r.Generation, r.Created))
		bytes += QueryRowBytes + len(r.Body)
	}
	if q.over = bytes < partBytes; !q.over {
		q.params.After = part[len(part)-1].ID
	}
	return part, err
}
