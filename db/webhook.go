package db

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/db/internal/frame"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
	"github.com/lattice-director/director/internal/base/fault"
)

// WebhookLease is the right of a worker to deliver for a webhook. The epoch counts its holders: what a former one
// writes is refused.
type WebhookLease struct {
	Webhook uuid.UUID
	Worker  uuid.UUID
	Epoch   int64
}

// MaxWebhooks is how many webhooks there may be.
const MaxWebhooks = 64

// webhookTaken is the error of a lease that has ended: another worker has it, or the webhook was paused or deleted.
var webhookTaken = fault.New(fault.Conflict, "webhook_taken",
	"another worker delivers for the webhook, or it is paused")

// TakeWebhooks takes the webhooks for which no worker with an unexpired lease delivers. Errors: Unavailable.
func (s *Store) TakeWebhooks(ctx context.Context, worker uuid.UUID, lease time.Duration) ([]WebhookLease, error) {
	rows, err := s.q.TakeWebhooks(ctx, query.TakeWebhooksParams{Worker: worker, Lease: lease, Most: MaxWebhooks})
	taken := make([]WebhookLease, len(rows))
	for i, r := range rows {
		taken[i] = WebhookLease{r.Webhook, worker, r.Epoch}
	}
	return taken, frame.Classify(err)
}

// RenewWebhook extends a lease. Errors: Conflict when it has ended: it had expired, or the webhook is paused or
// deleted; Unavailable.
func (s *Store) RenewWebhook(ctx context.Context, l WebhookLease, lease time.Duration) error {
	n, err := s.q.RenewWebhook(ctx,
		query.RenewWebhookParams{Webhook: l.Webhook, Worker: l.Worker, Epoch: l.Epoch, Lease: lease})
	if err == nil && n == 0 {
		return webhookTaken
	}
	return frame.Classify(err)
}

// EndWebhookLease ends a lease, so that another worker takes the webhook at once. Errors: Unavailable.
func (s *Store) EndWebhookLease(ctx context.Context, l WebhookLease) error {
	return frame.Classify(s.q.EndWebhookLease(ctx, query.EndWebhookLeaseParams(l)))
}

// WebhookState is what a worker knows of a webhook before its next step.
type WebhookState struct {
	Name          string
	URL           string
	EventKinds    []string
	Cursor        opsview.EventCursor // every event up to it was delivered, does not concern it, or waits
	IsFailing     bool
	FailsFor      time.Duration // since the first failure after the last success; 0: it does not fail
	FailedRounds  int           // rounds that have failed since a delivery succeeded
	DueIn         time.Duration // until the webhook may be tried again; not below 0
	WaitingEvents int           // events up to the cursor that wait for another attempt
	Now           time.Time     // by the database's clock
}

// ReadWebhookState reads the state of a webhook. Errors: Conflict, when it was deleted; Unavailable.
func (s *Store) ReadWebhookState(ctx context.Context, webhook uuid.UUID) (WebhookState, error) {
	r, err := s.q.WebhookState(ctx, webhook)
	if errors.Is(err, pgx.ErrNoRows) {
		return WebhookState{}, webhookTaken
	}
	return WebhookState{
		Name: r.Name, URL: r.Url, EventKinds: r.Kinds, Cursor: opsview.EventCursor{Tx: r.Tx, ID: r.ID},
		IsFailing: r.Failing, FailsFor: r.FailsFor,
		FailedRounds: int(r.Failures), DueIn: r.DueIn, WaitingEvents: int(r.Waiting), Now: r.Now,
	}, frame.Classify(err)
}

// Letter is an event on its way to a webhook. One that waits for another attempt is a row of webhook_deliveries.
type Letter struct {
	Cursor     opsview.EventCursor
	Subject    string // letters of one subject are delivered in order
	EventKind  string
	HappenedAt time.Time
	Body       string // what is sent, as JSON

	FailedAttempts int
	TriedFor       time.Duration // since the first attempt; 0: none was made
}

// DueLetters returns letters that are due for another attempt, with the later ones of their subjects, sorted by subject
// and in the order of the log: at most maxLetters, of at most maxSubjects. Errors: Unavailable.
func (s *Store) DueLetters(ctx context.Context, webhook uuid.UUID, maxSubjects, maxLetters int) ([]Letter, error) {
	rows, err := s.q.DueDeliveries(ctx,
		query.DueDeliveriesParams{Webhook: webhook, Subjects: int32(maxSubjects), Page: int32(maxLetters)})
	letters := make([]Letter, len(rows))
	for i, r := range rows {
		letters[i] = Letter{
			Cursor: opsview.EventCursor{Tx: r.Tx, ID: r.ID}, Subject: r.Subject, EventKind: r.Kind, HappenedAt: r.At,
			Body:           r.Body,
			FailedAttempts: int(r.Attempts), TriedFor: r.TriedFor,
		}
	}
	return letters, frame.Classify(err)
}

// WaitingSubjects returns those of the subjects of which a letter waits for another attempt. Errors: Unavailable.
func (s *Store) WaitingSubjects(ctx context.Context, webhook uuid.UUID, subjects []string) ([]string, error) {
	found, err := s.q.WaitingSubjects(ctx, query.WaitingSubjectsParams{Webhook: webhook, Subjects: subjects})
	return found, frame.Classify(err)
}
