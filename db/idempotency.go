package db

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/internal/tx"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// storedAnswersParams returns the parameters that select the stored answers of calls with an idempotency key.
func storedAnswersParams(calls []*placeCall) (arg query.StoredAnswersParams) {
	for _, c := range calls {
		if c.Req.IdempotencyKey != "" {
			arg.Callers = append(arg.Callers, c.Req.Caller)
			arg.Keys = append(arg.Keys, c.Req.IdempotencyKey)
		}
	}
	return arg
}

// replayAnswers sets the verdict of requests whose idempotency key has a stored answer: that answer, or an error where
// the key was used with another request.
func replayAnswers(requests []*request, stored []query.StoredAnswersRow) error {
	for _, r := range requests {
		var answer []byte
		answer, r.verdict.err = storedAnswer(stored, r.placeRequest.Caller, r.placeRequest.IdempotencyKey,
			r.placeRequest.RequestHash)
		if answer == nil {
			continue
		}
		r.verdict.knownPlacement = new(Placement)
		if err := json.Unmarshal(answer, r.verdict.knownPlacement); err != nil {
			return err
		}
	}
	return nil
}

// storedAnswer returns the answer that is stored for the idempotency key of a request; nil: none. mismatch: the key was
// used with another request.
func storedAnswer(stored []query.StoredAnswersRow, caller, key string, requestHash []byte) (answer []byte,
	mismatch *fault.Error) {
	i := slices.IndexFunc(stored, func(a query.StoredAnswersRow) bool { return a.Caller == caller && a.Key == key })
	if i < 0 {
		return nil, nil
	}
	if !bytes.Equal(stored[i].RequestHash, requestHash) {
		return nil, fault.New(fault.Mismatch, "idempotency_mismatch", "this Idempotency-Key was used with another body")
	}
	return stored[i].Answer, nil
}

// storeAnswers stores the answers of requests with an idempotency key.
func (p placing) storeAnswers(out *tx.Pipeline, decided []*request) error {
	arg := query.StoreAnswersParams{Keep: p.store.cfg.Timing.IdempotencyTTL}
	for _, r := range decided {
		// Refusals are not stored: a repetition may find a seat.
		if r.placeRequest.IdempotencyKey == "" || r.verdict.knownPlacement == nil {
			continue
		}
		body, err := json.Marshal(r.verdict.knownPlacement)
		if err != nil {
			return err
		}
		arg.Callers = append(arg.Callers, r.placeRequest.Caller)
		arg.Keys = append(arg.Keys, r.placeRequest.IdempotencyKey)
		arg.Hashes = append(arg.Hashes, r.placeRequest.RequestHash)
		arg.Answers = append(arg.Answers, string(body))
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
	return int(n), frame.Classify(err)
}
