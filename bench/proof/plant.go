package proof

import (
	"context"
	"embed"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"golang.org/x/sync/errgroup"
)

// What is there before a load comes, written by SQL: to play it all would take days. It is in the region of a run that is
// called planted, and leases planted with it last for a day.

// planted is the name of runs that meet what was put there before, and plantedRegion where that is.
const (
	planted       = "grown"
	plantedRegion = "bench-" + planted + "-0"
)

//go:embed *.sql
var statements embed.FS

// sql runs a file of statements. An empty line ends a transaction; args are for all of them.
func (b *bed) sql(ctx context.Context, file string, args ...any) error {
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

// plant makes an installation as old as it shall be, and lets Postgres do what it would do about that sooner or later.
func (b *bed) plant(ctx context.Context, in installation) error {
	b.options.say("planting %s", in)
	begun := time.Now()
	if err := b.sql(ctx, "growth_sessions.sql", plantedRegion, in.sessions); err != nil {
		return err
	}
	if err := b.sql(ctx, "growth_hosts.sql", plantedRegion, in.hosts); err != nil {
		return err
	}
	if err := b.plantPast(ctx, in.past); err != nil {
		return err
	}
	if err := b.sql(ctx, "settle.sql"); err != nil {
		return err
	}
	b.options.say("planted in %.0f s", time.Since(begun).Seconds())
	return nil
}

const (
	pastDays    = 30 // as long as history is kept
	pastPlayers = 8  // of each session
	planters    = 2  // that write at a time
)

// plantPast spreads seats over the days that history is kept for.
func (b *bed) plantPast(ctx context.Context, seats int) error {
	if err := b.sql(ctx, "growth_days.sql"); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(planters)
	for ago := range pastDays {
		group.Go(func() error { return b.sql(ctx, "growth_past.sql", plantedRegion, ago, seats/pastPlayers/pastDays) })
	}
	return group.Wait()
}
