package main

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/db/opsview"
	"github.com/lattice-director/director/internal/cli"
)

func (p *program) profilesEstimates() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "estimates",
		Short: "Show how good the estimates of waiting times were in the last day",
		Long: "Shows for each profile how many tickets were matched in the last day that had an estimate when they were queued, and which share\n" +
			"of them waited for no longer than its p50 and its p90. These should be 50 % and 90 %. Waits that end without a match do not\n" +
			"count. The same in SQL: view ops.estimates.",
		Example: "  director profiles estimates\n  director profiles estimates -o json | jq '.[] | select(.before_p90 < 0.88)'",
		Args:    cli.Exactly(0),
	}
	return p.onDatabase(cmd, byProfile, func(ctx context.Context, op operator, _ []string) error {
		return printView(ctx, op, opsview.Estimates, opsview.MinuteFilter{Universe: op.conf.config.Server.Universe},
			opsview.Page{}, table[opsview.Estimate]{
				titles: []string{"profile", "waits", "before p50", "before p90"},
				rowCells: func(e opsview.Estimate) []any {
					return []any{e.Profile, e.WaitCount, formatShare(e.BeforeP50), formatShare(e.BeforeP90)}
				},
			})
	})
}
