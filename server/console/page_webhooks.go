package console

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/google/uuid"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/base/fault"
)

// webhooksView is what templates/webhooks.html reads.
type webhooksView struct {
	Webhooks []opsview.Webhook
}

// webhooksPage shows the webhooks, how far each is behind, and what failed.
var webhooksPage = page[webhooksView]{routePath: "/webhooks", templateName: "webhooks", readEvery: 3 * time.Second,
	loadData: loadWebhooks}

func loadWebhooks(ctx context.Context, s Store, _ query) (v webhooksView, err error) {
	v.Webhooks, _, err = listView(ctx, s, opsview.Webhooks, opsview.WebhookFilter{},
		opsview.Page{Limit: opsview.MaxPage})
	return v, err
}

// webhookView is what templates/webhook.html reads.
type webhookView struct {
	Webhook    opsview.Webhook
	Deliveries []opsview.WebhookDelivery // that have not succeeded, the oldest first
	HasMore    bool                      // further deliveries exist
}

// webhookPage shows a webhook, and the deliveries that have not succeeded.
var webhookPage = page[webhookView]{routePath: "/webhooks/:name", templateName: "webhook", readEvery: 3 * time.Second,
	loadData: loadWebhook}

// loadWebhook reads the page of a webhook. Errors: NotFound.
func loadWebhook(ctx context.Context, s Store, q query) (v webhookView, err error) {
	if v.Webhook, err = webhookOf(ctx, s, q); err != nil {
		return v, err
	}
	v.Deliveries, v.HasMore, err = listView(ctx, s, opsview.WebhookDeliveries,
		opsview.WebhookDeliveryFilter{Name: v.Webhook.Name},
		opsview.Page{Limit: pageSize})
	return v, err
}

// webhookOf returns the webhook of the path. Errors: NotFound.
func webhookOf(ctx context.Context, s Store, q query) (opsview.Webhook, error) {
	name := q.Param("name")
	// An empty name would select all webhooks.
	if name == "" {
		return opsview.Webhook{}, fault.New(fault.NotFound, "not_found", "There is no such webhook.")
	}
	return readRow(ctx, s, opsview.Webhooks, opsview.WebhookFilter{Name: name}, "not_found", "There is no webhook %q.",
		name)
}

// webhookPath returns the page of a webhook.
func webhookPath(name string) string { return "/webhooks/" + url.PathEscape(name) }

// pauseWebhookAction keeps events back from a webhook.
var pauseWebhookAction = action{
	routePath: "/webhooks/:name/pause",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		w, err := webhookOf(ctx, s, q)
		return question{
			Title: "Pause webhook " + w.Name + "?", Button: "Pause", Back: webhookPath(w.Name), RequiresReason: true,
			Effects: []string{
				"It is sent nothing until somebody resumes it, and then continues where it ended.",
				"Events that are older than the retention of the log are lost to it by then.",
			},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).PauseWebhook(ctx, q.Param("name"))
		return outcomeText(changed, "The webhook is paused.", "It was paused before: nothing changed."), err
	},
}

// resumeWebhookAction ends a pause by an operator, and the wait between two attempts.
var resumeWebhookAction = action{
	routePath: "/webhooks/:name/resume",
	askFirst: func(ctx context.Context, s Store, q query) (question, error) {
		w, err := webhookOf(ctx, s, q)
		return question{
			Title: "Resume webhook " + w.Name + "?", Button: "Resume", Back: webhookPath(w.Name),
			Effects: []string{"It continues where it ended. One that fails is tried at once."},
		}, err
	},
	do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
		changed, err := s.As(d.Actor).Because(d.Reason).ResumeWebhook(ctx, q.Param("name"))
		return outcomeText(changed, "The webhook is resumed.", "It was not paused; it is tried at once."), err
	},
}

// replayWebhookAction sends dead letters again: all, or that of the event that the path names.
func replayWebhookAction(path string) action {
	return action{
		routePath: path,
		askFirst: func(ctx context.Context, s Store, q query) (question, error) {
			w, err := webhookOf(ctx, s, q)
			what := fmt.Sprintf("all %d dead letters", w.DeadLetters)
			if event := q.Param("event"); event != "" {
				what = "event " + shortID(event)
			}
			return question{
				Title: "Send " + what + " to " + w.Name + " again?", Button: "Send again", Back: webhookPath(w.Name),
				Effects: []string{
					"They have the webhook-id of before, and are tried for three days again.",
					"Later events of the same session or ticket wait for them.",
				},
			}, err
		},
		do: func(ctx context.Context, s Store, q query, d deed) (string, error) {
			event := uuid.Nil
			if text := q.Param("event"); text != "" {
				var err error
				if event, err = uuid.Parse(text); err != nil {
					return "", fault.New(fault.NotFound, "not_found", "There is no such event.")
				}
			}
			n, err := s.As(d.Actor).Because(d.Reason).ReplayWebhook(ctx, q.Param("name"), event)
			return outcomeText(n > 0, pluralText(n, "event is sent again.", "events are sent again."),
				"There was no such dead letter: nothing changed."), err
		},
	}
}
