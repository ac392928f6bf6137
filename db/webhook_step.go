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

	AttemptError string        // of the last attempt; "": the letter was not tried
	NextPause    time.Duration // until the next attempt
	IsBehind     bool          // the letter waits for an earlier one of its subject
	IsDead       bool          // the letter is not tried any more
}

// WebhookStep is what a step of a webhook did.
type WebhookStep struct {
	Cursor             opsview.EventCursor // that of the state, or the end of the page of the log that was read
	IsFailing          bool                // nothing can be delivered: the webhook is tried again after RetryPause
	RetryPause         time.Duration
	DeliveryError      string        // of a delivery that failed; "": none did
	SentCount          int           // letters that were delivered
	SettledLetters     []Letter      // the delivered letters that were stored, and are to be deleted
	UndeliveredLetters []Undelivered // to be stored
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
		if err != nil {
			return err
		}
		// The other worker decides about these letters.
		if n == 0 {
			return webhookTaken
		}
		if len(step.SettledLetters)+len(step.UndeliveredLetters) == 0 {
			return nil
		}
		return step.writeLetters(ctx, q, l.Webhook)
	})
	return frame.Classify(err)
}

// writeLetters deletes the settled letters of a step, stores the undelivered ones, and makes the next letters of their
// subjects due.
func (step WebhookStep) writeLetters(ctx context.Context, q *query.Queries, webhook uuid.UUID) error {
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
	// PromoteDeliveries comes last: the letter that it makes due is the first that is left of its subject.
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
		pause = -time.Second // stored as NULL: the letter becomes due when the one before it is settled
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
