package db

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

// Ticket is a ticket that is queued or assigned. Its body belongs to the protocol: this package does not read the body.
type Ticket struct {
	ID                string
	Body              []byte    // an openmatch.Ticket as it was created, with its id and time and without an assignment
	EncodedAssignment []byte    // an openmatch.Assignment; nil while the ticket is queued
	SettledAt         time.Time // when it was assigned; zero while it is queued
	// KeptAlive is by how much [Store.KeepAlive] extends the ticket's life; 0 when it does not, and after the ticket
	// was assigned.
	KeptAlive time.Duration
}

// The tags of fields of openmatch.Ticket: the number of the field, and the wire type of bytes, 2.
const (
	idTag         = 1<<3 | 2
	assignmentTag = 3<<3 | 2
)

// Encoded returns the openmatch.Ticket with its assignment. Protocol Buffers merges messages that are written one after
// the other, so the assignment is appended. The result may share memory with Body.
func (t Ticket) Encoded() []byte {
	if t.EncodedAssignment == nil {
		return t.Body
	}
	b := make([]byte, 0, len(t.Body)+1+binary.MaxVarintLen32+len(t.EncodedAssignment))
	b = append(append(b, t.Body...), assignmentTag)
	return append(binary.AppendUvarint(b, uint64(len(t.EncodedAssignment))), t.EncodedAssignment...)
}

// bareTicket returns an openmatch.Ticket that has only its id.
func bareTicket(id string) []byte {
	return append(binary.AppendUvarint([]byte{idTag}, uint64(len(id))), id...)
}

func ticketUnknown(id string) error {
	return fault.New(fault.NotFound, "ticket_unknown", "Ticket id: %s not found", id)
}

// GetTicket returns a ticket that is queued, or was assigned less than Timing.AssignedFor ago. Calls that wait at the
// same time share one statement. Errors: NotFound, Unavailable.
func (s *Store) GetTicket(ctx context.Context, region, id string) (Ticket, error) {
	if !IssuedHere(region, TicketID, id) {
		return Ticket{}, ticketUnknown(id)
	}
	return s.batchGroups.ticketReads.Do(ctx, region, id)
}

// readTicketBatch decides a batch of reads in one statement.
func (s *Store) readTicketBatch(ctx context.Context, region string, calls []*batch.Call[string, Ticket]) error {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Req)
	}
	all, err := readTickets(ctx, s.q, region, ids, s.cfg.Timing)
	if err != nil {
		return err
	}
	found := make(map[string]Ticket, len(all))
	for _, t := range all {
		found[t.ID] = t
	}
	for _, c := range calls {
		if t, ok := found[c.Req]; ok {
			c.Answer(t, nil)
			continue
		}
		// Also if the ticket was deleted: GetTicket does not distinguish that from an id that never was.
		c.Answer(Ticket{}, ticketUnknown(c.Req))
	}
	return nil
}

// GetTickets returns those of the tickets that exist, in any order. Errors: Unavailable.
func (s *Store) GetTickets(ctx context.Context, region string, ids []string) ([]Ticket, error) {
	ids = issuedTickets(region, ids)
	if len(ids) == 0 {
		return nil, nil
	}
	return readTickets(ctx, s.q, region, ids, s.cfg.Timing)
}

func readTickets(ctx context.Context, q *query.Queries, region string, ids []string, timing Timing) ([]Ticket, error) {
	rows, err := q.GetTickets(ctx, query.GetTicketsParams{Region: region, Ids: ids, AssignedFor: timing.AssignedFor})
	if err != nil {
		return nil, frame.Classify(err)
	}
	all := make([]Ticket, 0, len(rows))
	for _, r := range rows {
		t := Ticket{ID: r.ID, Body: r.Body, EncodedAssignment: r.Assignment, KeptAlive: r.KeptAlive}
		if r.SettledAt != nil {
			t.SettledAt = *r.SettledAt
		}
		all = append(all, t)
	}
	return all, nil
}

// issuedTickets returns those of the ids that this region may have issued. Others may contain bytes that Postgres's
// text rejects.
func issuedTickets(region string, ids []string) (issued []string) {
	for _, id := range ids {
		if IssuedHere(region, TicketID, id) {
			issued = append(issued, id)
		}
	}
	return issued
}

// UpdateTicket replaces the fields and the body of a ticket that is queued and in no match. Its id, its time of
// creation and its expiry stay. Errors: NotFound; Conflict, "matched", when it is in a match or assigned; Unavailable.
func (s *Store) UpdateTicket(ctx context.Context, region, id string, t NewTicket) (Ticket, error) {
	if !IssuedHere(region, TicketID, id) {
		return Ticket{}, ticketUnknown(id)
	}
	var out Ticket
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		locked, err := q.LockTicket(ctx,
			query.LockTicketParams{Region: region, ID: id, PendingFor: s.cfg.Timing.PendingFor})
		if errors.Is(err, pgx.ErrNoRows) {
			return ticketUnknown(id)
		}
		if err != nil {
			return err
		}
		if locked.Pending {
			return fault.New(fault.Conflict, "matched", "the ticket is in a match")
		}
		at := time.Unix(0, locked.Created).UTC()
		t.SearchFields.Created = match.MomentOf(at)
		row := t.SearchFields.Row()
		out = Ticket{ID: id, Body: t.EncodeBody(id, at)}
		query.QueueExec(q.Deferred(), (*query.Queries).PutTicket, query.PutTicketParams{
			Region: region, ID: id, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: out.Body,
		})
		return nil
	})
	if fault.Is(err, fault.NotFound) {
		return Ticket{}, s.explainNotQueued(ctx, region, id, err)
	}
	if err != nil {
		return Ticket{}, frame.Classify(err)
	}
	// Directors of Open Match and profiles may match the ticket by its new fields.
	s.notifyQueued(region)
	return out, nil
}

// explainNotQueued returns Conflict for a ticket that is assigned, and notFound for one that does not exist.
func (s *Store) explainNotQueued(ctx context.Context, region, id string, notFound error) error {
	if _, err := s.GetTicket(ctx, region, id); err == nil {
		return fault.New(fault.Conflict, "matched", "the ticket is assigned")
	}
	return notFound
}

// KeepAlive sets the expiry of queued tickets that were created with [NewTicket.KeepAlive] to one TTL from now. It
// ignores other ids. Errors: Unavailable.
func (s *Store) KeepAlive(ctx context.Context, region string, ids []string) error {
	return frame.Classify(s.q.KeepAlive(ctx, query.KeepAliveParams{Region: region, Ids: issuedTickets(region, ids)}))
}
