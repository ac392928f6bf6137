package db

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/match"
)

type playerTicketCall = batch.Call[PlayerTicketRequest, PlayerTicketAnswer]

// queueing is one transaction that puts parties into the queue.
type queueing struct {
	*Store
	q      *query.Queries
	region string

	rows           map[string][]query.PlayersQueuedRow // of every player of the batch
	storedAnswers  []query.StoredAnswersRow
	busyPlayers    map[string]bool // players that an older call of the batch decides about
	leave          []leaving
	forget         query.ForgetPlayersParams
	create         playerTicketParams
	earlierTickets []string // tickets that were there before
	answer         []func() // after the commit
}

// createPlayerTickets decides the calls of a batch. Calls about players that an older call of the batch decides about,
// and those whose idempotency key another transaction holds, stay for the next batch.
func (s *Store) createPlayerTickets(ctx context.Context, region string, calls []*playerTicketCall) error {
	var t *queueing
	err := s.inTx(ctx, func(q *query.Queries) (err error) {
		t = &queueing{Store: s, q: q, region: region, busyPlayers: map[string]bool{}}
		free, err := t.read(ctx, calls)
		if err != nil {
			return err
		}
		for _, c := range free {
			if err := t.decide(c); err != nil {
				return err
			}
		}
		return t.write(ctx)
	})
	if err != nil {
		return err
	}
	for _, answer := range t.answer {
		answer()
	}
	s.notifyQueue(region, len(t.create.tickets.Ids) > 0, len(t.leave) > 0)
	return nil
}

// notifyQueue wakes those that follow the queue, once it has changed.
func (s *Store) notifyQueue(region string, joined, left bool) {
	if joined {
		s.Notify(TopicQueue, region)
	}
	if left {
		s.Notify(TopicTickets, region)
		s.Notify(TopicTicketEvents, region)
	}
}

// read reads what the players of the calls wait for and the stored answers, and returns the calls whose locks it got.
func (t *queueing) read(ctx context.Context, calls []*playerTicketCall) (free []*playerTicketCall, err error) {
	var p tx.Pipeline
	var granted []int32
	var rows []query.PlayersQueuedRow
	locks, keys := query.TryLocksParams{}, query.StoredAnswersParams{}
	asked := query.PlayersQueuedParams{Region: t.region, PendingFor: t.cfg.Timing.PendingFor}
	for i, c := range calls {
		for _, l := range c.Req.locks() {
			locks.Requests, locks.Locks = append(locks.Requests, int32(i)), append(locks.Locks, l)
			keys.Callers, keys.Keys = append(keys.Callers, c.Req.Caller), append(keys.Keys, c.Req.IdempotencyKey)
		}
		asked.Subs = append(asked.Subs, c.Req.Party...)
	}
	if len(keys.Keys) > 0 {
		query.Queue(&p, &granted, (*query.Queries).TryLocks, locks)
		query.Queue(&p, &t.storedAnswers, (*query.Queries).StoredAnswers, keys)
	}
	query.Queue(&p, &rows, (*query.Queries).PlayersQueued, asked)
	if err := t.q.Send(ctx, &p); err != nil {
		return nil, err
	}
	t.know(rows)
	for i, c := range calls {
		if c.Req.IdempotencyKey == "" || slices.Contains(granted, int32(i)) {
			free = append(free, c)
		}
	}
	return free, nil
}

// know stores what players wait for.
func (t *queueing) know(rows []query.PlayersQueuedRow) {
	t.rows = make(map[string][]query.PlayersQueuedRow, len(rows))
	for _, r := range rows {
		t.rows[r.Sub] = append(t.rows[r.Sub], r)
	}
}

// decide adds what a call needs to the statements of the transaction.
func (t *queueing) decide(c *playerTicketCall) error {
	replayed, err := t.replay(c)
	if replayed || err != nil {
		return err
	}
	if answer, busy, err := t.admit(c.Req); !busy {
		t.answers(c, answer, err)
	}
	return nil
}

// admit decides a request, and adds what it needs to the statements of the transaction. busy: the transaction has
// decided about one of its players.
func (t *queueing) admit(r PlayerTicketRequest) (a PlayerTicketAnswer, busy bool, err error) {
	if slices.ContainsFunc(r.Party, func(sub string) bool { return t.busyPlayers[sub] }) {
		return a, true, nil
	}
	for _, sub := range r.Party {
		t.busyPlayers[sub] = true
	}
	verdict := r.judge(t.rows)
	switch {
	case verdict.err != nil:
		return a, false, verdict.err
	case verdict.sameTicket != "":
		t.earlierTickets = append(t.earlierTickets, verdict.sameTicket)
		return PlayerTicketAnswer{ID: verdict.sameTicket}, false, nil
	}
	t.take(verdict)
	return t.add(r), false, nil
}

func (t *queueing) answers(c *playerTicketCall, a PlayerTicketAnswer, err error) {
	t.answer = append(t.answer, func() { c.Answer(a, err) })
}

// replay answers a call whose idempotency key has a stored answer.
func (t *queueing) replay(c *playerTicketCall) (done bool, err error) {
	i := slices.IndexFunc(t.storedAnswers,
		func(a query.StoredAnswersRow) bool { return a.Caller == c.Req.Caller && a.Key == c.Req.IdempotencyKey })
	if i < 0 || c.Req.IdempotencyKey == "" {
		return false, nil
	}
	if !bytes.Equal(t.storedAnswers[i].RequestHash, c.Req.RequestHash) {
		t.answers(c, PlayerTicketAnswer{},
			fault.New(fault.Mismatch, "idempotency_mismatch", "this Idempotency-Key was used with another body"))
		return true, nil
	}
	var stored storedTicket
	err = json.Unmarshal(t.storedAnswers[i].Answer, &stored)
	t.answers(c, PlayerTicketAnswer{ID: stored.ID}, nil)
	return true, err
}

// storedTicket is the answer that is kept with an idempotency key.
type storedTicket struct {
	ID string `json:"ticket_id"`
}

// take removes what stands in the way of a new ticket.
func (t *queueing) take(v playerVerdict) {
	t.leave = append(t.leave, v.leave...)
	for _, r := range v.staleRows {
		t.forget.Subs, t.forget.Profiles, t.forget.Tickets = append(t.forget.Subs, r.Sub), append(t.forget.Profiles,
			r.Profile), append(t.forget.Tickets, r.TicketID)
	}
}

// add creates the ticket of a request.
func (t *queueing) add(r PlayerTicketRequest) PlayerTicketAnswer {
	at := t.Now().UTC()
	id := t.ids.next(t.region, TicketID, at)
	t.create.add(r, id, at)
	if r.IdempotencyKey != "" {
		answer, _ := json.Marshal(storedTicket{id}) // a text always encodes
		t.create.answers.Callers, t.create.answers.Keys = append(t.create.answers.Callers,
			r.Caller), append(t.create.answers.Keys, r.IdempotencyKey)
		t.create.answers.Hashes, t.create.answers.Answers = append(t.create.answers.Hashes,
			r.RequestHash), append(t.create.answers.Answers, string(answer))
	}
	return PlayerTicketAnswer{ID: id, CreatedAt: at, New: true}
}

// write defers the statements to the commit, in the order of locks.
func (t *queueing) write(ctx context.Context) error {
	if err := t.leaveQueue(ctx, t.q, t.region, t.leave); err != nil {
		return err
	}
	out := t.q.Deferred()
	if len(t.earlierTickets) > 0 {
		query.QueueExec(out, (*query.Queries).KeepAlive, query.KeepAliveParams{Region: t.region, Ids: t.earlierTickets})
	}
	if len(t.forget.Subs) > 0 {
		t.forget.Region = t.region
		query.QueueExec(out, (*query.Queries).ForgetPlayers, t.forget)
	}
	t.create.queue(out, t.region, t.cfg.Timing.IdempotencyTTL)
	return nil
}

// playerTicketParams are the rows of new tickets.
type playerTicketParams struct {
	tickets query.QueuePlayerTicketsParams
	players query.JoinPlayersParams
	answers query.StoreAnswersParams
}

func (p *playerTicketParams) add(r PlayerTicketRequest, id string, at time.Time) {
	r.Fields.Created = match.MomentOf(at)
	row, t := r.Fields.Row(), &p.tickets
	if t.Ids == nil { // Postgres slices no array that is null
		t.Terms, t.DoubleKeys, t.Doubles = []uuid.UUID{}, []uuid.UUID{}, []float64{}
	}
	t.Ids, t.Created, t.Bodies = append(t.Ids, id), append(t.Created, row.Created), append(t.Bodies, r.Body(id, at))
	t.TermsFrom, t.DoublesFrom = append(t.TermsFrom, int32(len(t.Terms)+1)), append(t.DoublesFrom,
		int32(len(t.Doubles)+1))
	t.Terms, t.DoubleKeys, t.Doubles = append(t.Terms, row.Terms...), append(t.DoubleKeys,
		row.Keys...), append(t.Doubles, row.Doubles...)
	t.TermsTo, t.DoublesTo = append(t.TermsTo, int32(len(t.Terms))), append(t.DoublesTo, int32(len(t.Doubles)))
	t.Ttls, t.Leases = append(t.Ttls, r.TTL), append(t.Leases, r.Lease)
	for _, profile := range r.wished() {
		for _, sub := range r.Party {
			j := &p.players
			j.Subs, j.Profiles, j.Tickets = append(j.Subs, sub), append(j.Profiles, profile), append(j.Tickets, id)
			j.Hashes, j.Posted = append(j.Hashes, r.RequestHash), append(j.Posted, sub == r.Caller)
		}
	}
}

func (p *playerTicketParams) queue(out *tx.Pipeline, region string, keep time.Duration) {
	if len(p.tickets.Ids) == 0 {
		return
	}
	p.tickets.Region, p.players.Region, p.answers.Keep = region, region, keep
	query.QueueExec(out, (*query.Queries).QueuePlayerTickets, p.tickets)
	query.QueueExec(out, (*query.Queries).JoinPlayers, p.players)
	query.QueueExec(out, (*query.Queries).RecordQueued,
		query.RecordQueuedParams{Region: region, Tickets: p.tickets.Ids})
	if len(p.answers.Keys) > 0 {
		query.QueueExec(out, (*query.Queries).StoreAnswers, p.answers)
	}
}
