package db

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"
)

// replay answers requests whose idempotency key has a stored answer.
func (p placing) replay(ctx context.Context, wishes []*wish) error {
	var arg StoredAnswersParams
	for _, w := range wishes {
		if w.req.IdempotencyKey != "" {
			arg.Callers, arg.Keys = append(arg.Callers, w.req.Caller), append(arg.Keys, w.req.IdempotencyKey)
		}
	}
	if len(arg.Keys) == 0 {
		return nil
	}
	stored, err := p.q.StoredAnswers(ctx, arg)
	if err != nil {
		return err
	}
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

func (p placing) storeAnswers(ctx context.Context, decided []*wish) error {
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
	return p.q.StoreAnswers(ctx, arg)
}
