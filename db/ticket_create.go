package db

import (
	"context"
	"slices"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

type createCall = batch.Call[*ticketDraft, Ticket]

// CreateTicket adds a ticket to the queue of a region. Queries that begin afterwards find it. Its time of creation is
// the database's as far as this pod knows, to the nanosecond. Errors: Conflict, "player_waits", when the player has a
// live ticket; TooMany, "not_admitted" and "login_queue_full", where a valve limits who enters; Unavailable.
func (s *Store) CreateTicket(ctx context.Context, region string, t NewTicket) (Ticket, error) {
	if err := s.admit(ctx, arrival{region: region, callerSub: t.Player}); err != nil {
		return Ticket{}, err
	}
	return s.batchGroups.newTickets.Do(ctx, region, s.draftTicket(region, t))
}

func (s *Store) draftTicket(region string, t NewTicket) *ticketDraft {
	d := &ticketDraft{newTicket: t, createdAt: s.Now().UTC()}
	d.id = s.idMint.next(region, TicketID, d.createdAt)
	d.newTicket.SearchFields.Created = match.MomentOf(d.createdAt)
	d.matchRow = d.newTicket.SearchFields.Row()
	d.body = d.newTicket.EncodeBody(d.id, d.createdAt)
	return d
}

// createTicketBatch decides a batch of new tickets: it answers those that it could insert, and refuses the others or
// leaves them to the next batch with new ids.
func (s *Store) createTicketBatch(ctx context.Context, region string, calls []*createCall) error {
	ids, err := s.insertTickets(ctx, region, calls)
	if err != nil {
		return err
	}
	if len(ids) > 0 {
		s.Notify(TopicQueue, region)
	}
	inserted := setOf(ids)
	var rejected []*createCall
	for _, c := range calls {
		if inserted[c.Req.id] {
			c.Answer(Ticket{ID: c.Req.id, Body: c.Req.body}, nil)
			continue
		}
		rejected = append(rejected, c)
	}
	return s.refuseOrRedraft(ctx, region, rejected)
}

// insertTickets inserts the tickets whose ids and players are free, and returns their ids.
func (s *Store) insertTickets(ctx context.Context, region string, calls []*createCall) (ids []string, err error) {
	p, players, arePlain := createParams(region, calls)
	// A cheaper statement, without the columns of TTLs and players.
	if arePlain {
		err := s.q.CreatePlainTickets(ctx, query.CreatePlainTicketsParams{
			Region: region, Ids: p.Ids, Created: p.Created, Bodies: p.Bodies, Terms: p.Terms, TermsFrom: p.TermsFrom,
			TermsTo:    p.TermsTo,
			DoubleKeys: p.DoubleKeys, Doubles: p.Doubles, DoublesFrom: p.DoublesFrom, DoublesTo: p.DoublesTo,
		})
		// In a conflict, one of the ids is in use and nothing was inserted: the statement below leaves that ticket out.
		if !frame.IsConflict(err) {
			return p.Ids, err
		}
	}
	if len(players) == 0 {
		return s.q.CreateTickets(ctx, p)
	}
	err = s.frame.InTx(ctx, func(q *query.Queries) error {
		// The unique index of players counts expired tickets until they are deleted.
		expired, err := q.ExpiredOfPlayers(ctx, query.ExpiredOfPlayersParams{Region: region, Players: players})
		if err != nil {
			return err
		}
		if len(expired) > 0 {
			if _, err := q.DeleteQueued(ctx, query.DeleteQueuedParams{Region: region, Ids: expired}); err != nil {
				return err
			}
		}
		ids, err = q.CreateTickets(ctx, p)
		return err
	})
	return ids, err
}

// createParams returns the parameters of the statements, and the players of the tickets. arePlain means that no ticket
// has a TTL or a player. Ttls, KeepAlive and Players are then empty: CreatePlainTickets has no such columns, and in
// CreateTickets unnest fills them with NULL.
func createParams(region string, calls []*createCall) (p query.CreateTicketsParams, players []string, arePlain bool) {
	n, terms, doubles := len(calls), 0, 0
	arePlain = true
	for _, c := range calls {
		terms, doubles = terms+len(c.Req.matchRow.Terms), doubles+len(c.Req.matchRow.Doubles)
		arePlain = arePlain && c.Req.newTicket.TTL == 0 && c.Req.newTicket.Player == ""
	}
	p = query.CreateTicketsParams{
		Region: region, Ids: make([]string, 0, n), Created: make([]int64, 0, n), Bodies: make([][]byte, 0, n),
		TermsFrom: make([]int32, 0, n), TermsTo: make([]int32, 0, n), DoublesFrom: make([]int32, 0, n),
		DoublesTo: make([]int32, 0, n),
		Terms:     make([]uuid.UUID, 0, terms), DoubleKeys: make([]uuid.UUID, 0, doubles),
		Doubles: make([]float64, 0, doubles),
	}
	for _, c := range calls {
		t := c.Req
		p.Ids = append(p.Ids, t.id)
		p.Created = append(p.Created, t.matchRow.Created)
		p.Bodies = append(p.Bodies, t.body)
		// From and To say which part of the flat arrays is of the ticket, counted from 1 as in SQL, both included.
		p.TermsFrom = append(p.TermsFrom, int32(len(p.Terms)+1))
		p.DoublesFrom = append(p.DoublesFrom, int32(len(p.Doubles)+1))
		p.Terms = append(p.Terms, t.matchRow.Terms...)
		p.DoubleKeys = append(p.DoubleKeys, t.matchRow.Keys...)
		p.Doubles = append(p.Doubles, t.matchRow.Doubles...)
		p.TermsTo = append(p.TermsTo, int32(len(p.Terms)))
		p.DoublesTo = append(p.DoublesTo, int32(len(p.Doubles)))
		if arePlain {
			continue
		}
		p.Ttls = append(p.Ttls, t.newTicket.TTL)
		p.KeepAlive = append(p.KeepAlive, t.newTicket.KeepAlive)
		p.Players = append(p.Players, t.newTicket.Player)
		if t.newTicket.Player != "" {
			players = append(players, t.newTicket.Player)
		}
	}
	return p, players, arePlain
}

// refuseOrRedraft refuses those of the tickets that were not inserted whose players have a ticket already. The ids of
// the others were in use: they get new ids, and stay for the next batch.
func (s *Store) refuseOrRedraft(ctx context.Context, region string, rejected []*createCall) error {
	if len(rejected) == 0 {
		return nil
	}
	var players []string
	for _, c := range rejected {
		players = append(players, c.Req.newTicket.Player)
	}
	waiting, err := s.q.PlayersWaiting(ctx, query.PlayersWaitingParams{Region: region, Players: players})
	if err != nil {
		return err
	}
	for _, c := range rejected {
		if slices.Contains(waiting, c.Req.newTicket.Player) {
			c.Answer(Ticket{}, fault.New(fault.Conflict, "player_waits",
				"this player has a ticket already: delete or cancel it first"))
			continue
		}
		c.Req = s.draftTicket(region, c.Req.newTicket)
	}
	return nil
}
