package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
	"github.com/lattice-director/director/internal/keymint"
	"github.com/lattice-director/director/token"
)

func (p *program) webhooksCommand() *cobra.Command {
	return cli.Family(&cobra.Command{
		Use:   "webhooks",
		Short: "Send events to your own services, and see what they have got",
		Long: "A webhook sends each event of some kinds to a URL with a POST, after the Standard Webhooks specification: signed, at least once,\n" +
			"in order for each session, and again for three days where that fails. Workers deliver to the hosts of DIRECTOR_WEBHOOK_HOSTS.\n" +
			"docs/how-to/webhooks.md has a receiver.",
		Example: "  director webhooks create studio https://studio.example/hook --kinds 'seat.*,match.*'\n" +
			"  director webhooks test studio\n  director webhooks list\n  director webhooks deliveries studio --state dead",
	}, p.webhooksCreate(), p.webhooksList(), p.webhooksShow(), p.webhooksPause(), p.webhooksResume(),
		p.webhooksDelete(),
		p.webhooksDeliveries(), p.webhooksReplay(), p.webhooksTest(), p.webhooksKeys())
}

func (p *program) webhooksList() *cobra.Command {
	return p.onWebhooks(&cobra.Command{
		Use:   "list",
		Short: "List the webhooks and how far they have come",
		Long: "Lists the webhooks. Lag is the age of the oldest event that one has not got; failing means that no delivery has succeeded lately;\n" +
			"waiting events are tried again, and dead letters are not: see 'webhooks deliveries'. The same in SQL: view ops.webhooks.",
		Example: "  director webhooks list\n  director webhooks list -o json | jq -r '.[] | select(.state != \"active\") | .name'",
	}, 0, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Webhooks, opsview.WebhookFilter{}, opsview.Page{}, webhookTable)
	})
}

func (p *program) webhooksShow() *cobra.Command {
	return p.onWebhooks(&cobra.Command{
		Use:     "show NAME",
		Short:   "Show a webhook",
		Long:    "Shows everything that is known of a webhook.",
		Example: "  director webhooks show studio\n  director webhooks show studio -o json",
	}, 1, func(ctx context.Context, op operator, args []string) error {
		w, err := op.readWebhook(ctx, args[0])
		if err != nil {
			return err
		}
		if op.out.JSON {
			return cli.WriteJSON(op.out.Writer, w)
		}
		lines := [][2]any{
			{"name", w.Name}, {"id", w.ID}, {"url", w.URL}, {"kinds", w.Kinds}, {"state", w.State},
			{"reason", w.Reason}, {"lag", w.Lag.Round(time.Second)}, {"cursor", w.Cursor()}, {"delivered", w.Delivered},
			{"delivered at", w.DeliveredAt}, {"failing since", w.FailingSince}, {"next attempt", w.NextAt},
			{"last error", w.LastError}, {"failed at", w.FailedAt}, {"waiting", w.Waiting},
			{"dead letters", w.DeadLetters}, {"created at", w.CreatedAt},
		}
		return writeFields(op.out, lines)
	})
}

func (p *program) webhooksDeliveries() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "deliveries NAME",
		Short: "List the events that a webhook has not got in the first attempt",
		Long: "Lists events that are tried again (retrying), that wait for an earlier one of the same session or ticket (behind), and dead letters\n" +
			"(dead), the oldest first, at most 1,000. What was delivered is not kept. The same in SQL: view ops.webhook_deliveries.",
		Example: "  director webhooks deliveries studio\n  director webhooks deliveries studio --state dead -o json | jq -r '.[].body'",
	}
	var f opsview.WebhookDeliveryFilter
	addChoice(cmd, &f.State, "state", "Only those in this state: retrying, behind or dead", "retrying", "behind", "dead")
	return p.onWebhooks(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		// Otherwise an unknown webhook would look like one without deliveries.
		if _, err := op.readWebhook(ctx, args[0]); err != nil {
			return err
		}
		f.Name = args[0]
		return printView(ctx, op, opsview.WebhookDeliveries, f, opsview.Page{Limit: 1000}, table[opsview.WebhookDelivery]{
			titles:      []string{"event", "kind", "subject", "state", "attempts", "next at", "last error"},
			spareTitles: []string{"subject", "attempts"},
			rowCells: func(d opsview.WebhookDelivery) []any {
				return []any{d.Event, d.Kind, d.Subject, d.State, d.Attempts, d.NextAt, d.LastError}
			},
		})
	})
}

// testPoll is how often 'webhooks test' looks whether its event has arrived.
const testPoll = 200 * time.Millisecond

func (p *program) webhooksTest() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "test NAME",
		Short: "Send a webhook an event, and wait until it has got it",
		Long: "Writes an event of kind webhook.tested, which is sent to this webhook whatever kinds it asks for, on the way of all events, and waits\n" +
			"until it was delivered. Exit code 1 says that it was not, and why.",
		Example: "  director webhooks test studio\n  director webhooks test studio --timeout 1m",
	}
	timeout := cmd.Flags().Duration("timeout", 30*time.Second, "How long to wait")
	requirePositive(cmd, "timeout", timeout)
	return p.onWebhooks(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		before, err := op.readWebhook(ctx, args[0])
		if err != nil {
			return err
		}
		// Nothing is sent while it is paused: the wait below would end by its timeout, and give a wrong reason.
		if before.State == "paused" {
			return fmt.Errorf("webhook %s is paused: 'director webhooks resume %s' ends that", before.Name, before.Name)
		}
		// After the webhook was read: the failure that isDelivered compares with must be older than the event.
		event, err := op.store.As("").TestWebhook(ctx, args[0])
		if err != nil {
			return err
		}
		if err := op.awaitDelivery(ctx, cmd.ErrOrStderr(), before, event, *timeout); err != nil {
			return err
		}
		line := testedLine{before.Name, "evt_" + event.ID.String()}
		return cli.Write(op.out, []testedLine{line}, []string{"webhook", "delivered"},
			func(t testedLine) []any { return []any{t.Webhook, t.ID} })
	})
}

// testedLine is the output of `webhooks test`.
type testedLine struct {
	Webhook string `json:"webhook"`
	ID      string `json:"webhook_id"`
}

// awaitDelivery waits until a webhook has got an event, whatever became of others.
func (op operator) awaitDelivery(ctx context.Context, stderr io.Writer, before opsview.Webhook,
	event opsview.EventCursor, timeout time.Duration) error {
	wait := operatorWait{
		progress: progressLine{stderr: stderr}, interval: testPoll, timeout: timeout,
		whatStays: fmt.Sprintf("event %s is still delivered: 'director webhooks show %s' says how far the webhook is",
			event.ID, before.Name),
		look: func(ctx context.Context) (string, bool, error) {
			isDelivered, err := op.isDelivered(ctx, before, event)
			return "", isDelivered, err
		},
	}
	err := wait.untilDone(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("event %s was not delivered in time: does a worker run (director doctor)?", event.ID)
	}
	return err
}

// isDelivered reports whether a webhook has got an event. Its error says why the event, or everything, is refused.
func (op operator) isDelivered(ctx context.Context, before opsview.Webhook, event opsview.EventCursor) (bool, error) {
	now, err := op.readWebhook(ctx, before.Name)
	if err != nil {
		return false, err
	}
	// After the webhook: a step moves its place in the log and stores what was not delivered in one transaction.
	kept, err := opsview.WebhookDeliveries.Read(ctx, op.store.Pool(),
		opsview.WebhookDeliveryFilter{Name: now.Name, Event: event.ID}, opsview.Page{})
	if err != nil {
		return false, err
	}
	switch {
	case len(kept) > 0 && kept[0].LastError != "":
		return false, fmt.Errorf("webhook %s failed: %s", now.Name, kept[0].LastError)
	case len(kept) == 0 && !now.Cursor().IsBefore(event):
		return true, nil
	// Nothing is delivered. Only a failure after the test began: an earlier one says nothing about it.
	case now.State == "failing" && (before.FailedAt == nil || now.FailedAt.After(*before.FailedAt)):
		return false, fmt.Errorf("webhook %s failed: %s", now.Name, now.LastError)
	}
	return false, nil
}

func (p *program) webhooksKeys() *cobra.Command {
	return p.onDatabase(&cobra.Command{
		Use:   "keys",
		Short: "Print the public keys that verify webhooks",
		Long: "Prints the public keys in the form of the Standard Webhooks specification (whpk_…). Each request has a signature of each of them.\n" +
			"They change with the signing keys, so receivers should read them from /.well-known/webhook-keys.json of the API, again and again.",
		Example: "  director webhooks keys\n  director webhooks keys -o json | jq -r '.[].key'",
		Args:    cli.Exactly(0),
	}, byOperator|byKeys, func(ctx context.Context, op operator, _ []string) error {
		keys, err := op.webhookKeys(ctx)
		if err != nil {
			return err
		}
		return cli.Write(op.out.Sparing("verify until"), keys, []string{"key", "kid", "verify until"},
			func(k token.WebhookKey) []any { return []any{k.Key, k.KID, k.VerifyUntil} })
	})
}

// webhookKeys returns the public keys of webhooks that are valid at the database's time.
func (op operator) webhookKeys(ctx context.Context) ([]token.WebhookKey, error) {
	sealer, err := op.conf.config.makeSealer()
	if err != nil {
		return nil, err
	}
	rows, now, err := op.store.Keys(ctx)
	if err != nil {
		return nil, err
	}
	// The ring has the private keys, so that the command needs the key-encryption key.
	ring, err := keymint.Open(rows, sealer, now, time.Minute)
	if err != nil {
		return nil, err
	}
	return ring.WebhookKeys(now), nil
}
