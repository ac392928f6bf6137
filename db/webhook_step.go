package db

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// Undelivered is a letter that was not delivered, and when it is tried again.
type Undelivered struct {
	Letter Letter // with the attempts so far

	AttemptError string        // of the last attempt; "": it was not tried
	NextPause    time.Duration // until the next one
	IsBehind     bool          // it waits for an earlier letter of its subject
	IsDead       bool          // it is not tried any more
}

// WebhookStep is what a step of a webhook did.
type WebhookStep struct {
	Cursor             opsview.EventCursor // that of the state, unless a page of the log was dealt with
	IsFailing          bool                // nothing can be delivered: the webhook is tried again after Pause
	RetryPause         time.Duration
	DeliveryError      string        // of a delivery that failed; "": none did
	SentCount          int           // letters that were delivered
	SettledLetters     []Letter      // those of them that had been stored
	UndeliveredLetters []Undelivered // those that are to be stored
}

// MaxDeadLetters bounds the dead letters of a webhook: later ones replace the oldest.
const MaxDeadLetters = 10_000

// RecordWebhookStep stores what a step did. Errors: Conflict, when another worker has taken the webhook since;
// Unavailable.
func (s *Store) RecordWebhookStep(ctx context.Context, l WebhookLease, step WebhookStep) error {
	err := s.frame.InTx(ctx, func(q *query.Queries) error {
		n, err := q.AdvanceWebhook(ctx, query.AdvanceWebhookParams{
			Webhook: l.Webhook, Worker: l.Worker, Epoch: l.Epoch, Tx: step.Cursor.Tx, ID: step.Cursor.ID,
			Works: step.SentCount > 0, Failing: step.IsFailing, Pause: step.RetryPause, Error: step.DeliveryError,
			Delivered: int32(step.SentCount),
		})
		switch {
		case err != nil:
			return err
		// Rolled back: the other worker decides about these letters.
		case n == 0:
			return webhookTaken
		case len(step.SettledLetters)+len(step.UndeliveredLetters) == 0:
			return nil
		}
		return step.store(ctx, q, l.Webhook)
	})
	return frame.Classify(err)
}

// store stores the letters of a step. A subject whose first letter has gone continues with the next.
func (step WebhookStep) store(ctx context.Context, q *query.Queries, webhook uuid.UUID) error {
	forget := query.ForgetDeliveriesParams{Webhook: webhook}
	promote := query.PromoteDeliveriesParams{Webhook: webhook}
	for _, letter := range step.SettledLetters {
		forget.Txs = append(forget.Txs, letter.Cursor.Tx)
		forget.Ids = append(forget.Ids, letter.Cursor.ID)
		promote.Subjects = append(promote.Subjects, letter.Subject)
	}
	put := query.PutDeliveriesParams{Webhook: webhook}
	for _, u := range step.UndeliveredLetters {
		u.addTo(&put)
		promote.Subjects = append(promote.Subjects, u.Letter.Subject)
	}
	// In this order: a subject goes on with its next letter once the ones before it are gone or stored.
	if err := q.ForgetDeliveries(ctx, forget); err != nil {
		return err
	}
	if err := q.PutDeliveries(ctx, put); err != nil {
		return err
	}
	if err := q.PromoteDeliveries(ctx, promote); err != nil {
		return err
	}
	return q.DropDeadLetters(ctx, query.DropDeadLettersParams{Webhook: webhook, Most: MaxDeadLetters})
}

func (u Undelivered) addTo(put *query.PutDeliveriesParams) {
	letter, pause := u.Letter, u.NextPause
	if u.IsBehind {
		pause = -time.Second // the statement stores NULL
	}
	put.Txs = append(put.Txs, letter.Cursor.Tx)
	put.Ids = append(put.Ids, letter.Cursor.ID)
	put.Subjects = append(put.Subjects, letter.Subject)
	put.Kinds = append(put.Kinds, letter.EventKind)
	put.Ats = append(put.Ats, letter.HappenedAt)
	put.Bodies = append(put.Bodies, letter.Body)
	put.Attempts = append(put.Attempts, int32(letter.FailedAttempts))
	put.Errors = append(put.Errors, u.AttemptError)
	put.Pauses = append(put.Pauses, pause)
	put.Dead = append(put.Dead, u.IsDead)
}

// PauseGoneWebhook pauses a webhook whose endpoint wants no more events, unless another worker has taken it since.
// Errors: Unavailable.
func (s *Store) PauseGoneWebhook(ctx context.Context, l WebhookLease, reason string) error {
	return frame.Classify(s.q.PauseGoneWebhook(ctx,
		query.PauseGoneWebhookParams{Webhook: l.Webhook, Worker: l.Worker, Epoch: l.Epoch, Reason: reason}))
}

// PruneDeadLetters deletes dead letters that are older than keep. Errors: Unavailable.
func (s *Store) PruneDeadLetters(ctx context.Context, keep time.Duration) (int, error) {
	n, err := s.q.PruneDeadLetters(ctx, keep)
	return int(n), frame.Classify(err)
}
