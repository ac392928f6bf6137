package proof

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// Rows that exist before a load are written by SQL: creating them through calls would take days. They are in the region
// of a run called prefilled, and their leases last a day.

// prefilled is the name of runs that use the prefilled rows, and prefilledRegion is their region.
const (
	prefilled       = "grown"
	prefilledRegion = "bench-" + prefilled + "-0"
)

//go:embed *.sql
var statements embed.FS

// sql runs a file of statements. An empty line ends a transaction; each one gets all args.
func (b *testbed) sql(ctx context.Context, file string, args ...any) error {
	text, err := statements.ReadFile(file)
	if err != nil {
		return err
	}
	for part := range strings.SplitSeq(string(text), "\n\n") {
		if _, err := b.pool.Exec(ctx, part, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...); err != nil {
			return err
		}
	}
	return nil
}

// prefill fills the database to the size of an installation, and vacuums and analyzes it.
func (b *testbed) prefill(ctx context.Context, in installation) error {
	b.options.say("planting %s", in)
	begun := time.Now()
	if err := b.sql(ctx, "growth_sessions.sql", prefilledRegion, in.sessions); err != nil {
		return err
	}
	if err := b.sql(ctx, "growth_hosts.sql", prefilledRegion, in.hosts); err != nil {
		return err
	}
	if err := b.prefillHistory(ctx, in.past); err != nil {
		return err
	}
	if err := b.sql(ctx, "settle.sql"); err != nil {
		return err
	}
	b.options.say("prefilled in %.0f s", time.Since(begun).Seconds())
	return nil
}

const (
	pastDays    = 30 // the default retention of history
	pastPlayers = 8  // per session
	prefillers  = 2  // concurrent writers
)

// prefillHistory spreads past seats over the days of the retention.
func (b *testbed) prefillHistory(ctx context.Context, seats int) error {
	if err := b.sql(ctx, "growth_days.sql"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(prefillers)
	for ago := range pastDays {
		group.Go(func() error {
			return b.sql(ctx, "growth_past.sql", prefilledRegion, ago,
				seats/pastPlayers/pastDays)
		})
	}
	return group.Wait()
}
