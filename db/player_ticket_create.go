package db

import (
	"context"
	"encoding/json"
	"errors"
	"slices"

	"github.com/lattice-director/director/db/internal/batch"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
)

type playerTicketCall = batch.Call[PlayerTicketRequest, PlayerTicketAnswer]

// CreatePlayerTicket puts a party into the queue of a universe. The same request by a member of the party returns the
// ticket with which the party waits. A member that has neither read nor accepted the ticket of its party may post a
// ticket of its own: the party's is then cancelled. Requests that wait together share one transaction.
//
// Errors: Conflict, "ticket_exists" where the caller has posted another ticket for one of the profiles,
// "party_conflict" where another member waits elsewhere, or where the caller has joined its party's ticket; Mismatch
// where the idempotency key was used with another request; TooMany, "too_many_tickets", and "not_admitted" or
// "login_queue_full" where a valve limits who enters; Unavailable.
func (s *Store) CreatePlayerTicket(ctx context.Context, universe string,
	r PlayerTicketRequest) (PlayerTicketAnswer, error) {
	if err := s.admit(ctx, r.arrival(universe)); err != nil {
		return PlayerTicketAnswer{}, err
	}
	return s.batchGroups.playerTickets.Do(ctx, universe, r)
}

// createPlayerTickets decides the calls of a batch in one transaction. Calls about players about whom an older call of
// the batch decides, and those whose idempotency key another transaction has locked, stay for the next batch.
func (s *Store) createPlayerTickets(ctx context.Context, universe string, calls []*playerTicketCall) error {
	return s.inQueueTurn(ctx, universe, "", func(t *queueTurn) error {
		requests, parties := make([]PlayerTicketRequest, len(calls)), make([]*party, len(calls))
		for i, c := range calls {
			requests[i], parties[i] = c.Req, &party{origin: fromRequest, request: c.Req}
		}
		var p tx.Pipeline
		var keys ticketKeys
		keys.lock(&p, requests...)
		if err := t.read(ctx, &p, parties, nil, nil); err != nil {
			return err
		}
		for i, c := range calls {
			// Another transaction is answering the key of a call that is left out here. The next batch finds its answer.
			if keys.isLocked(i, c.Req) {
				t.createPlayerTicket(c, parties[i], &keys)
			}
		}
		return nil
	})
}

// createPlayerTicket decides a call, whose idempotency key is locked.
func (t *queueTurn) createPlayerTicket(c *playerTicketCall, p *party, keys *ticketKeys) {
	answer, err := keys.replay(c.Req)
	if answer.ID == "" && err == nil {
		answer, err = t.enter(p)
	}
	// A call that finds a player busy gets no answer, and stays for the next batch.
	if !errors.Is(err, errPartyBusy) {
		t.callAnswers = append(t.callAnswers, func() { c.Answer(answer, err) })
	}
}

// ticketKeys are the idempotency keys of the requests of a transaction.
type ticketKeys struct {
	lockedRequests []int32 // whose keys the transaction has locked
	storedAnswers  []query.StoredAnswersRow
}

// lock adds statements to a pipeline that lock the keys of requests, without waiting, and read the stored answers.
func (k *ticketKeys) lock(p *tx.Pipeline, requests ...PlayerTicketRequest) {
	var locks query.TryLocksParams
	var answers query.StoredAnswersParams
	for i, r := range requests {
		if r.IdempotencyKey != "" {
			locks.Requests = append(locks.Requests, int32(i))
			locks.Locks = append(locks.Locks, lockKey("idempotency", r.Caller, r.IdempotencyKey))
			answers.Callers = append(answers.Callers, r.Caller)
			answers.Keys = append(answers.Keys, r.IdempotencyKey)
		}
	}
	if len(answers.Keys) > 0 {
		query.Queue(p, &k.lockedRequests, (*query.Queries).TryLocks, locks)
		query.Queue(p, &k.storedAnswers, (*query.Queries).StoredAnswers, answers)
	}
}

// isLocked reports whether the transaction has the key of the i-th request, or the request has none.
func (k *ticketKeys) isLocked(i int, r PlayerTicketRequest) bool {
	return r.IdempotencyKey == "" || slices.Contains(k.lockedRequests, int32(i))
}

// replay returns the ticket that a request has got before; the zero value: none. Errors: Mismatch where its key was
// used with another request.
func (k *ticketKeys) replay(r PlayerTicketRequest) (PlayerTicketAnswer, error) {
	answer, mismatch := storedAnswer(k.storedAnswers, r.Caller, r.IdempotencyKey, r.RequestHash)
	switch {
	case mismatch != nil:
		return PlayerTicketAnswer{}, mismatch
	case answer == nil:
		return PlayerTicketAnswer{}, nil
	}
	var stored storedTicket
	err := json.Unmarshal(answer, &stored)
	return PlayerTicketAnswer{ID: stored.ID}, err
}
