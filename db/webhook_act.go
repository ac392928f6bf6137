package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// CreateWebhook subscribes a URL to kinds of events from now on. Errors: Invalid; Conflict, when there is one of the
// name, or [MaxWebhooks] are there; Unavailable, also when the tables could not be locked for the recording of seats or
// tickets.
func (a Act) CreateWebhook(ctx context.Context, name, url string, kinds []string) (id uuid.UUID, err error) {
	_, err = callAct(ctx, a, func(q *query.Queries, ctx context.Context, p query.OpsCreateWebhookParams) (bool, error) {
		var err error
		id, err = q.OpsCreateWebhook(ctx, p)
		return true, err
	}, query.OpsCreateWebhookParams{Name: name, Url: url, Kinds: kinds})
	return id, err
}

// PauseWebhook sends a webhook nothing until ResumeWebhook. Errors: NotFound, Unavailable.
func (a Act) PauseWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsPauseWebhook,
		query.OpsPauseWebhookParams{Name: name, Reason: a.reason})
}

// ResumeWebhook ends a pause, and makes a webhook that fails be tried at once. changed is false where it was not
// paused. Errors: NotFound, Unavailable.
func (a Act) ResumeWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsResumeWebhook, name)
}

// DeleteWebhook ends a subscription, with its dead letters. Errors: NotFound, Unavailable.
func (a Act) DeleteWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDeleteWebhook, name)
}

// ReplayWebhook sends dead letters again: that of an event or, for the nil UUID, all. It returns how many. Errors:
// NotFound, Unavailable.
func (a Act) ReplayWebhook(ctx context.Context, name string, event uuid.UUID) (replayed int, err error) {
	p := query.OpsReplayWebhookParams{Name: name}
	if event != uuid.Nil {
		p.Event = &event
	}
	_, err = callAct(ctx, a, func(q *query.Queries, ctx context.Context, p query.OpsReplayWebhookParams) (bool, error) {
		n, err := q.OpsReplayWebhook(ctx, p)
		replayed = int(n)
		return n > 0, err
	}, p)
	return replayed, err
}

// TestWebhook writes an event that is sent to a webhook whatever it asks for, and returns its place in the log. Errors:
// NotFound, Unavailable.
func (a Act) TestWebhook(ctx context.Context, name string) (event opsview.EventCursor, err error) {
	_, err = callAct(ctx, a, func(q *query.Queries, ctx context.Context, name string) (bool, error) {
		var err error
		if event.ID, err = q.OpsTestWebhook(ctx, name); err == nil {
			event.Tx, err = q.WrittenEvent(ctx, event.ID)
		}
		return true, err
	}, name)
	return event, err
}

// RecordEvents records the events of seats, of tickets, or the ends of matches (noun seat, ticket or match), or no
// longer; those that a webhook asks for are recorded anyway. Errors: Invalid, Unavailable.
func (a Act) RecordEvents(ctx context.Context, noun string, keep bool) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRecordEvents, query.OpsRecordEventsParams{Noun: noun, Keep: keep})
}
