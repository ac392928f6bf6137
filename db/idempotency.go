package db

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// answersOf returns the parameters that select the stored answers of calls with an idempotency key.
func answersOf(calls []*placeCall) (arg query.StoredAnswersParams) {
	for _, c := range calls {
		if c.Req.IdempotencyKey != "" {
			arg.Callers, arg.Keys = append(arg.Callers, c.Req.Caller), append(arg.Keys, c.Req.IdempotencyKey)
		}
	}
	return arg
}

// replay answers requests whose idempotency key has a stored answer.
func replay(requests []*request, stored []query.StoredAnswersRow) error {
	for _, r := range requests {
		i := slices.IndexFunc(stored, func(a query.StoredAnswersRow) bool {
			return a.Caller == r.req.Caller && a.Key == r.req.IdempotencyKey
		})
		switch {
		case i < 0:
		case !bytes.Equal(stored[i].RequestHash, r.req.RequestHash):
			r.err = fault.New(fault.Mismatch, "idempotency_mismatch", "this Idempotency-Key was used with another body")
		default:
			r.answer = new(Placement)
			if err := json.Unmarshal(stored[i].Answer, r.answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeAnswers stores the answers of requests with an idempotency key.
func (p placing) storeAnswers(out *tx.Pipeline, decided []*request) error {
	arg := query.StoreAnswersParams{Keep: p.cfg.Timing.IdempotencyTTL}
	for _, r := range decided {
		if r.req.IdempotencyKey == "" || r.answer == nil {
			continue
		}
		body, err := json.Marshal(r.answer)
		if err != nil {
			return err
		}
		arg.Callers, arg.Keys = append(arg.Callers, r.req.Caller), append(arg.Keys, r.req.IdempotencyKey)
		arg.Hashes, arg.Answers = append(arg.Hashes, r.req.RequestHash), append(arg.Answers, string(body))
	}
	if len(arg.Keys) == 0 {
		return nil
	}
	query.QueueExec(out, (*query.Queries).StoreAnswers, arg)
	return nil
}

// PruneIdempotencyKeys removes stored answers past their time, at most batch. Errors: Unavailable.
func (s *Store) PruneIdempotencyKeys(ctx context.Context, batch int) (int, error) {
	n, err := s.q.PruneIdempotencyKeys(ctx, int32(batch))
	return int(n), classify(err)
}
