package db

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/db/internal/tx"
)

// answersOf asks for the stored answers of the calls that have an idempotency key.
func answersOf(calls []*placeCall) (arg StoredAnswersParams) {
	for _, c := range calls {
		if c.Req.IdempotencyKey != "" {
			arg.Callers, arg.Keys = append(arg.Callers, c.Req.Caller), append(arg.Keys, c.Req.IdempotencyKey)
		}
	}
	return arg
}

// replay answers requests whose idempotency key has a stored answer.
func replay(wishes []*wish, stored []StoredAnswersRow) error {
	for _, w := range wishes {
		i := slices.IndexFunc(stored, func(a StoredAnswersRow) bool { return a.Caller == w.req.Caller && a.Key == w.req.IdempotencyKey })
		switch {
		case i < 0:
		case !bytes.Equal(stored[i].RequestHash, w.req.RequestHash):
			w.err = newError(Mismatch, "idempotency_mismatch", "this Idempotency-Key was used with another body")
		default:
			w.answer = new(Placement)
			if err := json.Unmarshal(stored[i].Answer, w.answer); err != nil {
				return err
			}
		}
	}
	return nil
}

// storeAnswers keeps the answers of those who will ask for them by their idempotency key.
func (p placing) storeAnswers(out *tx.Pipeline, decided []*wish) error {
	arg := StoreAnswersParams{Keep: p.cfg.Timing.IdempotencyTTL}
	for _, w := range decided {
		if w.req.IdempotencyKey == "" || w.answer == nil {
			continue
		}
		body, err := json.Marshal(w.answer)
		if err != nil {
			return err
		}
		arg.Callers, arg.Keys = append(arg.Callers, w.req.Caller), append(arg.Keys, w.req.IdempotencyKey)
		arg.Hashes, arg.Answers = append(arg.Hashes, w.req.RequestHash), append(arg.Answers, string(body))
	}
	if len(arg.Keys) == 0 {
		return nil
	}
	queueExec(out, (*Queries).StoreAnswers, arg)
	return nil
}

// PruneIdempotencyKeys removes stored answers past their time, at most batch. Errors: Unavailable.
func (s *Store) PruneIdempotencyKeys(ctx context.Context, batch int) (int, error) {
	n, err := s.q.PruneIdempotencyKeys(ctx, int32(batch))
	return int(n), classify(err)
}
