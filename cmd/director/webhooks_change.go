package main

import (
	"context"
	"fmt"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) webhooksCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "create NAME URL",
		Short: "Subscribe a URL to kinds of events, from now on",
		Long: "Makes a webhook: workers send each event of its kinds to the URL, beginning with what happens now. Its host must be one of\n" +
			"DIRECTOR_WEBHOOK_HOSTS of the workers. Seats, tickets and ends of matches are recorded from now on if it asks for them.\n" +
			"docs/reference/events.md lists the kinds. The same in SQL: function ops.create_webhook.",
		Example: "  director webhooks create studio https://studio.example/hook --kinds 'seat.*,match.*'\n" +
			"  director webhooks create moderation https://studio.example/moderation --kinds 'lobby.*'",
	}
	kinds := cmd.Flags().StringSlice("kinds", nil,
		"The kinds of events, such as session.closed, 'seat.*' for all of a noun, or '*' for all")
	completeFixed(cmd, "kinds", db.EventKinds)
	made := p.changeWebhook(cmd, 2, func(by db.Act, ctx context.Context, args []string) (bool, error) {
		if len(*kinds) == 0 {
			return false, cli.Usage(fmt.Errorf("--kinds is required, such as --kinds 'seat.*,match.*'"))
		}
		if err := opsview.CheckKinds(*kinds, db.EventKinds); err != nil {
			return false, cli.Usage(fmt.Errorf("--kinds %w", err))
		}
		_, err := by.CreateWebhook(ctx, args[0], args[1], *kinds)
		return err == nil, err
	})
	made.ValidArgsFunction = cobra.NoFileCompletions // a new name is none of those that exist
	return made
}

// changeWebhook completes a command that changes the webhook in its first argument, and prints it as it is then.
func (p *program) changeWebhook(cmd *cobra.Command, argCount int,
	change func(by db.Act, ctx context.Context, args []string) (bool, error)) *cobra.Command {
	return p.onWebhooks(cmd, argCount, func(ctx context.Context, op operator, args []string) error {
		// Whether it changed anything is not printed: the row shows the state, which is the same after a repetition.
		if _, err := change(op.store.As(""), ctx, args); err != nil {
			return err
		}
		w, err := op.readWebhook(ctx, args[0])
		if err != nil {
			return err
		}
		return webhookTable.write(op.out, []opsview.Webhook{w})
	})
}

func (p *program) webhooksPause() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "pause NAME",
		Short: "Send a webhook nothing until it is resumed",
		Long: "Makes workers send a webhook nothing, within two seconds, until it is resumed: it then continues where it ended. Events that are\n" +
			"older than DIRECTOR_HISTORY_RETENTION are gone by then. The same in SQL: function ops.pause_webhook.",
		Example: "  director webhooks pause studio --reason 'it is moved'",
	}
	reason := addReason(cmd, "Why, for the event")
	return p.changeWebhook(cmd, 1, func(by db.Act, ctx context.Context, args []string) (bool, error) {
		// A webhook that is paused keeps the reason of its first pause.
		return by.Because(*reason).PauseWebhook(ctx, args[0])
	})
}

func (p *program) webhooksResume() *cobra.Command {
	return p.changeWebhook(&cobra.Command{
		Use:   "resume NAME",
		Short: "Continue a webhook that was paused, and try one that fails at once",
		Long: "Ends the pause of a webhook, and makes one that fails be tried at once instead of within a minute. The same in SQL: function\n" +
			"ops.resume_webhook.",
		Example: "  director webhooks resume studio",
	}, 1, func(by db.Act, ctx context.Context, args []string) (bool, error) {
		return by.ResumeWebhook(ctx, args[0])
	})
}

func (p *program) webhooksDelete() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "delete NAME",
		Short: "End a webhook, with its dead letters",
		Long: "Ends a webhook, after a confirmation. Its place in the log and its dead letters are lost: one that is made again begins anew. The same\n" +
			"in SQL: function ops.delete_webhook.",
		Example: "  director webhooks delete studio\n  director webhooks delete studio --yes",
	}
	yes := addYes(cmd)
	return p.onWebhooks(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		w, err := op.readWebhook(ctx, args[0])
		if err != nil {
			return err
		}
		// With what is lost: dead letters cannot be replayed afterwards.
		if err := p.askConfirmation(*yes, fmt.Sprintf("This ends webhook %s, with %d dead letters.", w.Name,
			w.DeadLetters)); err != nil {
			return err
		}
		changed, err := op.store.As("").DeleteWebhook(ctx, w.Name)
		if err != nil {
			return err
		}
		return writeChanges(op.out, "webhook", []changeLine{{w.Name, changed}})
	})
}

// replayedLine is the output of `webhooks replay`.
type replayedLine struct {
	Webhook string `json:"webhook"`
	Events  int    `json:"events"`
}

func (p *program) webhooksReplay() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "replay NAME",
		Short: "Send dead letters again",
		Long: "Sends the dead letters of a webhook again, all or that of one event, with the same webhook-id as before. They are tried for three days\n" +
			"again, and later events of the same session wait for them. The same in SQL: function ops.replay_webhook.",
		Example: "  director webhooks replay studio\n  director webhooks replay studio --event 01935f6e-2f4d-7a7e-a7a6-5d1d3b3f0d52",
	}
	event := cmd.Flags().String("event", "", "Only that of this event, as 'webhooks deliveries' lists it")
	return p.onWebhooks(cmd, 1, func(ctx context.Context, op operator, args []string) error {
		id := uuid.Nil // all dead letters
		if *event != "" {
			var err error
			if id, err = uuid.Parse(*event); err != nil {
				return cli.Usage(fmt.Errorf("--event %q is not allowed: it must be the id of an event", *event))
			}
		}
		// 0 is no error: nothing was dead.
		n, err := op.store.As("").ReplayWebhook(ctx, args[0], id)
		if err != nil {
			return err
		}
		return cli.Write(op.out, []replayedLine{{args[0], n}}, []string{"webhook", "events"},
			func(r replayedLine) []any { return []any{r.Webhook, r.Events} })
	})
}
