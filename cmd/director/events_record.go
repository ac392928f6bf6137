package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

// recordedNouns are the nouns with kinds of events that are recorded only while an operator or a webhook asks for them.
var recordedNouns = []string{"match", "seat", "ticket"}

func (p *program) eventsRecord() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "record [NOUN ...]",
		Short: "Show or set whether seats, tickets and ends of matches are recorded",
		Long: "Events of seats and tickets, and match.ended, are written only if somebody asks for them: a webhook, or an operator with this\n" +
			"command. Shows which are; with nouns (seat, ticket, match) it first makes them recorded, or with --off no longer. Those that a\n" +
			"webhook asks for are recorded anyway. The same in SQL: function ops.record_events.",
		Example:   "  director events record\n  director events record seat ticket\n  director events record seat --off",
		ValidArgs: recordedNouns,
	}
	// --off ends only what operators have asked for. What a webhook asks for ends with the webhook, or when its kinds
	// change.
	off := cmd.Flags().Bool("off", false, "Record them no longer")
	checkFirst(cmd, func(nouns []string) error {
		for _, noun := range nouns {
			if !slices.Contains(recordedNouns, noun) {
				return cli.Usage(fmt.Errorf("%q is not allowed: it must be seat, ticket or match; other kinds are always recorded", noun))
			}
		}
		return nil
	})
	return p.onDatabase(cmd, byOperator, func(ctx context.Context, op operator, nouns []string) error {
		for _, noun := range nouns {
			// One transaction a noun, each of which is complete by itself.
			if _, err := op.store.As("").RecordEvents(ctx, noun, !*off); err != nil {
				return err
			}
		}
		// All nouns, also those that were not named: what webhooks ask for is recorded as well.
		return printView(ctx, op, opsview.RecordedEvents, opsview.Any{}, opsview.Page{}, table[opsview.RecordedEvent]{
			titles:   []string{"events of", "an operator asks", "recorded"},
			rowCells: func(r opsview.RecordedEvent) []any { return []any{r.Noun, r.Kept, r.Recorded} },
		})
	})
}
