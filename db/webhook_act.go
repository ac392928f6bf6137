package db

import (
	"context"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/db/query"
)

// CreateWebhook subscribes a URL to kinds of events from now on. Errors: Invalid; Conflict, when a webhook has the
// name, or there are [MaxWebhooks]; Unavailable, also when the tables of seats or tickets could not be locked to begin
// the recording of their events.
func (a Act) CreateWebhook(ctx context.Context, name, url string, kinds []string) (id uuid.UUID, err error) {
	_, err = callAct(ctx, a, func(q *query.Queries, ctx context.Context, p query.OpsCreateWebhookParams) (bool, error) {
		var err error
		id, err = q.OpsCreateWebhook(ctx, p)
		return true, err
	}, query.OpsCreateWebhookParams{Name: name, Url: url, Kinds: kinds})
	return id, err
}

// PauseWebhook stops deliveries to a webhook until ResumeWebhook. Errors: NotFound, Unavailable.
func (a Act) PauseWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsPauseWebhook,
		query.OpsPauseWebhookParams{Name: name, Reason: a.reason})
}

// ResumeWebhook ends the pause of a webhook. A webhook that fails is tried again at once. changed is false where it was
// not paused. Errors: NotFound, Unavailable.
func (a Act) ResumeWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsResumeWebhook, name)
}

// DeleteWebhook ends a subscription, with its dead letters. Errors: NotFound, Unavailable.
func (a Act) DeleteWebhook(ctx context.Context, name string) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsDeleteWebhook, name)
}

// ReplayWebhook makes dead letters due again: that of an event or, for the nil UUID, all. It returns how many. Errors:
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

// RecordEvents sets whether the events of seats, of tickets, or the ends of matches (noun seat, ticket or match) are
// recorded. Events that a webhook asks for are recorded in any case. Errors: Invalid, Unavailable.
func (a Act) RecordEvents(ctx context.Context, noun string, record bool) (changed bool, err error) {
	return callAct(ctx, a, (*query.Queries).OpsRecordEvents, query.OpsRecordEventsParams{Noun: noun, Keep: record})
}
