package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// webhookWords completes the name of a webhook.
var webhookWords = firstOnly(wordsOf(opsview.Webhooks, opsview.WebhookFilter{}, "name"))

// onWebhooks makes a command on the database with the output flags. Its arguments begin with the name of a webhook,
// unless argCount is 0.
func (p *program) onWebhooks(cmd *cobra.Command, argCount int, run databaseRun) *cobra.Command {
	cmd.Args = cli.Exactly(argCount)
	if argCount > 0 {
		cmd.ValidArgsFunction = p.completeArgs(webhookWords)
	}
	return p.onDatabase(cmd, byOperator, run)
}

// webhookTable leaves out the URL first, which is the longest cell.
var webhookTable = table[opsview.Webhook]{
	titles:      []string{"name", "state", "lag", "delivered", "waiting", "dead letters", "last error", "kinds", "url"},
	spareTitles: []string{"url", "kinds", "delivered"},
	rowCells: func(w opsview.Webhook) []any {
		return []any{w.Name, w.State, w.Lag.Round(time.Second), w.Delivered, w.Waiting, w.DeadLetters, w.LastError,
			w.Kinds, w.URL}
	},
}

// readWebhook reads a webhook. The error of an unknown one says how to find those that exist.
func (op operator) readWebhook(ctx context.Context, name string) (opsview.Webhook, error) {
	w, err := opsview.Webhooks.One(ctx, op.store.Pool(), opsview.WebhookFilter{Name: name})
	// An empty name would select every webhook.
	if errors.Is(err, opsview.ErrNoRow) || name == "" {
		return w, fmt.Errorf("there is no webhook %q; 'director webhooks list' lists them", name)
	}
	return w, err
}
