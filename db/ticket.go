package db

import (
	"context"
	"encoding/binary"
	"errors"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/match"
)

// Ticket waits for a match or was assigned to one. Its body belongs to the protocol; this package does not read it.
type Ticket struct {
	ID         string
	Body       []byte    // an openmatch.Ticket as it was created, with its id and time and without an assignment
	Assignment []byte    // an openmatch.Assignment; nil while it waits
	SettledAt  time.Time // when it was assigned; zero while it waits
	// KeptAlive is by how much [Store.KeepAlive] extends its life; 0 when it does not, and after the ticket was assigned.
	KeptAlive time.Duration
}

// Encoded is the openmatch.Ticket with its assignment. Messages of Protocol Buffers are merged by writing them one after
// the other, so the assignment (field 3) goes to the end. It may share memory with Body.
func (t Ticket) Encoded() []byte {
	if t.Assignment == nil {
		return t.Body
	}
	b := make([]byte, 0, len(t.Body)+len(t.Assignment)+binary.MaxVarintLen32+1)
	b = append(append(b, t.Body...), 3<<3|2)
	return append(binary.AppendUvarint(b, uint64(len(t.Assignment))), t.Assignment...)
}

// NewTicket is a ticket to create.
type NewTicket struct {
	Fields match.Fields // what pools choose by; the store fills in Created
	// Encode returns the body. It is called again, with another id, when the first id was taken.
	Encode    func(id string, created time.Time) []byte
	TTL       time.Duration // after its creation it is deleted; 0: never
	KeepAlive bool          // [Store.KeepAlive] extends its life by another TTL
	Player    string        // may have one live ticket; "" for no limit
}

// created is a NewTicket on its way into the queue.
type created struct {
	NewTicket

	id   string
	at   time.Time
	row  match.Row
	body []byte
}

// CreateTicket puts a ticket into the queue of a region; it is found by queries from then on. Its time is the database's
// as far as this pod knows, to the nanosecond. Errors: Conflict, "player_waits", where the player has a live ticket;
// Unavailable.
func (s *Store) CreateTicket(ctx context.Context, region string, t NewTicket) (Ticket, error) {
	return s.groups.newTickets.Do(ctx, region, s.draft(region, t))
}

func (s *Store) draft(region string, t NewTicket) *created {
	c := &created{NewTicket: t, at: s.Now().UTC()}
	c.id = s.ids.next(region, TicketID, c.at)
	c.Fields.Created = match.MomentOf(c.at)
	c.row = c.Fields.Row()
	c.body = c.Encode(c.id, c.at)
	return c
}

func (s *Store) createBatch(ctx context.Context, region string, calls []*batch.Call[*created, Ticket]) error {
	rows, err := s.putTickets(ctx, region, calls)
	if err != nil {
		return err
	}
	taken := make(map[string]bool, len(rows))
	for _, id := range rows {
		taken[id] = true
	}
	var left []*batch.Call[*created, Ticket]
	for _, c := range calls {
		if taken[c.Req.id] {
			c.Answer(Ticket{ID: c.Req.id, Body: c.Req.body}, nil)
			continue
		}
		left = append(left, c)
	}
	return s.answerConflicts(ctx, region, left)
}

// putTickets writes the tickets that conflict with nothing, and returns their ids.
func (s *Store) putTickets(ctx context.Context, region string, calls []*batch.Call[*created, Ticket]) (ids []string, err error) {
	p, players, plain := paramsOf(region, calls)
	if plain {
		err := s.q.QueueTickets(ctx, QueueTicketsParams{
			Region: region, Ids: p.Ids, Created: p.Created, Bodies: p.Bodies, Terms: p.Terms, TermsFrom: p.TermsFrom, TermsTo: p.TermsTo,
			DoubleKeys: p.DoubleKeys, Doubles: p.Doubles, DoublesFrom: p.DoublesFrom, DoublesTo: p.DoublesTo,
		})
		if !isConflict(err) {
			return p.Ids, err
		}
	}
	if players == nil {
		return s.q.CreateTickets(ctx, p)
	}
	err = s.inTx(ctx, func(q *Queries) error {
		over, err := q.ExpiredOfPlayers(ctx, ExpiredOfPlayersParams{Region: region, Players: players})
		if err != nil {
			return err
		}
		if len(over) > 0 {
			if _, err := q.DeleteQueued(ctx, DeleteQueuedParams{Region: region, Ids: over}); err != nil {
				return err
			}
		}
		ids, err = q.CreateTickets(ctx, p)
		return err
	})
	return ids, err
}

// paramsOf returns tickets as parameters of the statements, and the players that are named; plain means that no ticket has a TTL
// or a player.
func paramsOf(region string, calls []*batch.Call[*created, Ticket]) (p CreateTicketsParams, players []string, plain bool) {
	n, terms, doubles := len(calls), 0, 0
	plain = true
	for _, c := range calls {
		terms, doubles = terms+len(c.Req.row.Terms), doubles+len(c.Req.row.Doubles)
		plain = plain && c.Req.TTL == 0 && c.Req.Player == ""
	}
	p = CreateTicketsParams{
		Region: region, Ids: make([]string, 0, n), Created: make([]int64, 0, n), Bodies: make([][]byte, 0, n),
		TermsFrom: make([]int32, 0, n), TermsTo: make([]int32, 0, n), DoublesFrom: make([]int32, 0, n), DoublesTo: make([]int32, 0, n),
		Terms: make([]uuid.UUID, 0, terms), DoubleKeys: make([]uuid.UUID, 0, doubles), Doubles: make([]float64, 0, doubles),
	}
	for _, c := range calls {
		t := c.Req
		p.Ids, p.Created, p.Bodies = append(p.Ids, t.id), append(p.Created, t.row.Created), append(p.Bodies, t.body)
		p.TermsFrom, p.DoublesFrom = append(p.TermsFrom, int32(len(p.Terms)+1)), append(p.DoublesFrom, int32(len(p.Doubles)+1))
		p.Terms, p.DoubleKeys, p.Doubles = append(p.Terms, t.row.Terms...), append(p.DoubleKeys, t.row.Keys...), append(p.Doubles, t.row.Doubles...)
		p.TermsTo, p.DoublesTo = append(p.TermsTo, int32(len(p.Terms))), append(p.DoublesTo, int32(len(p.Doubles)))
		if plain {
			continue
		}
		p.Ttls, p.KeepAlive, p.Players = append(p.Ttls, t.TTL), append(p.KeepAlive, t.KeepAlive), append(p.Players, t.Player)
		if t.Player != "" {
			players = append(players, t.Player)
		}
	}
	return p, players, plain
}

// answerConflicts refuses the tickets whose players have one already. The ids of the others were taken: they get new ids and
// stay for the next batch.
func (s *Store) answerConflicts(ctx context.Context, region string, left []*batch.Call[*created, Ticket]) error {
	if len(left) == 0 {
		return nil
	}
	var players []string
	for _, c := range left {
		players = append(players, c.Req.Player)
	}
	waiting, err := s.q.PlayersWaiting(ctx, PlayersWaitingParams{Region: region, Players: players})
	if err != nil {
		return err
	}
	for _, c := range left {
		if slices.Contains(waiting, c.Req.Player) {
			c.Answer(Ticket{}, newError(Conflict, "player_waits", "this player has a ticket already: delete or cancel it first"))
			continue
		}
		c.Req = s.draft(region, c.Req.NewTicket)
	}
	return nil
}

func ticketUnknown(id string) error {
	return newError(NotFound, "ticket_unknown", "Ticket id: %s not found", id)
}

// GetTicket gives a ticket that waits, or was assigned less than Timing.AssignedFor ago. Those that are asked for at a time
// are read together. Errors: NotFound, Unavailable.
func (s *Store) GetTicket(ctx context.Context, region, id string) (Ticket, error) {
	if !IssuedHere(region, TicketID, id) {
		return Ticket{}, ticketUnknown(id)
	}
	return s.groups.ticketReads.Do(ctx, region, id)
}

func (s *Store) getBatch(ctx context.Context, region string, calls []*batch.Call[string, Ticket]) error {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Req)
	}
	all, err := s.q.tickets(ctx, region, ids, s.cfg.Timing)
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
		c.Answer(Ticket{}, ticketUnknown(c.Req))
	}
	return nil
}

// GetTickets gives those of the tickets that there are, in no order. Errors: Unavailable.
func (s *Store) GetTickets(ctx context.Context, region string, ids []string) ([]Ticket, error) {
	ids = issuedTickets(region, ids)
	if len(ids) == 0 {
		return nil, nil
	}
	return s.q.tickets(ctx, region, ids, s.cfg.Timing)
}

func (q *Queries) tickets(ctx context.Context, region string, ids []string, timing Timing) ([]Ticket, error) {
	rows, err := q.GetTickets(ctx, GetTicketsParams{Region: region, Ids: ids, AssignedFor: timing.AssignedFor})
	if err != nil {
		return nil, classify(err)
	}
	all := make([]Ticket, 0, len(rows))
	for _, r := range rows {
		t := Ticket{ID: r.ID, Body: r.Body, Assignment: r.Assignment, KeptAlive: r.KeptAlive}
		if r.SettledAt != nil {
			t.SettledAt = *r.SettledAt
		}
		all = append(all, t)
	}
	return all, nil
}

// issuedTickets gives those of the ids that may be ours: others may hold what Postgres's texts cannot.
func issuedTickets(region string, ids []string) (ours []string) {
	for _, id := range ids {
		if IssuedHere(region, TicketID, id) {
			ours = append(ours, id)
		}
	}
	return ours
}

// DeleteTicket deletes a ticket, whether it waits or is assigned; when it returns, no query finds the ticket. An unknown id is no
// error. Errors: Unavailable.
func (s *Store) DeleteTicket(ctx context.Context, region, id string) error {
	if !IssuedHere(region, TicketID, id) {
		return nil
	}
	_, err := s.groups.ticketLeaves.Do(ctx, region, id)
	return err
}

func (s *Store) deleteBatch(ctx context.Context, region string, calls []*batch.Call[string, struct{}]) error {
	var ids []string
	for _, c := range calls {
		ids = append(ids, c.Req)
	}
	err := s.inTx(ctx, func(q *Queries) error {
		// Two statements: the second has to see what was assigned while the first waited for it.
		_, err := q.DeleteQueued(ctx, DeleteQueuedParams{Region: region, Ids: ids})
		queueExec(q.deferred(), (*Queries).DeleteAssigned, DeleteAssignedParams{Region: region, Ids: ids})
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
	Cancelled bool    // it waited, and is gone: no match will have it
	MatchedIn []byte  // the id of the match that it is in, not cancelled
	Assigned  *Ticket // it was assigned already, not cancelled
}

// CancelTicket takes a ticket out unless it is in a match: whatever it answers is so for good, on all replicas. Errors:
// NotFound, Unavailable.
func (s *Store) CancelTicket(ctx context.Context, region, id string) (Cancelled, error) {
	if !IssuedHere(region, TicketID, id) {
		return Cancelled{}, ticketUnknown(id)
	}
	row, err := s.q.CancelTicket(ctx, CancelTicketParams{Region: region, ID: id, PendingFor: s.cfg.Timing.PendingFor})
	if errors.Is(err, pgx.ErrNoRows) {
		t, err := s.GetTicket(ctx, region, id)
		return Cancelled{Assigned: &t}, err
	}
	if row.Cancelled {
		s.Notify(TopicTickets, region)
		return Cancelled{Cancelled: true}, classify(err)
	}
	return Cancelled{MatchedIn: row.MatchedIn}, classify(err)
}

// UpdateTicket replaces what a ticket says while it waits and is in no match; its id and time stay, and so does when it
// leaves by itself. Errors: NotFound; Conflict, "matched", where it is in a match or assigned; Unavailable.
func (s *Store) UpdateTicket(ctx context.Context, region, id string, t NewTicket) (Ticket, error) {
	if !IssuedHere(region, TicketID, id) {
		return Ticket{}, ticketUnknown(id)
	}
	var out Ticket
	err := s.inTx(ctx, func(q *Queries) error {
		held, err := q.LockTicket(ctx, LockTicketParams{Region: region, ID: id, PendingFor: s.cfg.Timing.PendingFor})
		if errors.Is(err, pgx.ErrNoRows) {
			return ticketUnknown(id)
		}
		if err != nil {
			return err
		}
		if held.Pending {
			return newError(Conflict, "matched", "the ticket is in a match")
		}
		at := time.Unix(0, held.Created).UTC()
		t.Fields.Created = match.MomentOf(at)
		row := t.Fields.Row()
		out = Ticket{ID: id, Body: t.Encode(id, at)}
		queueExec(q.deferred(), (*Queries).PutTicket, PutTicketParams{
			Region: region, ID: id, Terms: row.Terms, DoubleKeys: row.Keys, Doubles: row.Doubles, Body: out.Body,
		})
		return nil
	})
	if IsKind(err, NotFound) {
		if _, err := s.GetTicket(ctx, region, id); err == nil {
			return Ticket{}, newError(Conflict, "matched", "the ticket is assigned")
		}
	}
	return out, classify(err)
}

// KeepAlive lets tickets that were created so stay for another TTL from now. Others, and those that are gone, are left as
// they are. Errors: Unavailable.
func (s *Store) KeepAlive(ctx context.Context, region string, ids []string) error {
	return classify(s.q.KeepAlive(ctx, KeepAliveParams{Region: region, Ids: issuedTickets(region, ids)}))
}

// queryKeys spells the ranges of a query as the statements want them.
func queryKeys(ranges []match.QueryRange) (keys []uuid.UUID, lows, highs []float64) {
	keys, lows, highs = []uuid.UUID{}, []float64{}, []float64{}
	for _, r := range ranges {
		keys, lows, highs = append(keys, r.Key), append(lows, r.Low), append(highs, r.High)
	}
	return keys, lows, highs
}
