package proof

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Players arrive at a fixed rate, create a ticket, and watch it until it is assigned, while a director fetches matches
// and assigns them. Then the same is measured while a transaction that has written stays open. All tickets settled
// meanwhile are newer than it, so that a reader that starts at the oldest open transaction reads all of them each time.
var writer = Experiment{
	Name: "writer", Title: "A forgotten writer", Takes: "1 min",
	About: "Whether a forgotten open transaction that has written delays assignments",
	parts: inOneLab(lab.Options{}, writerArms), claims: writerClaims,
}

// The arms, by their names in the report.
const (
	lifeAlone  = "ticket life"
	lifeBeside = "ticket life, with a forgotten writer"
)

func writerArms(_ context.Context, b *testbed) ([]arm, error) {
	load := b.options.loadUsual("ticket-life", 5*time.Second)
	beside := b.arm(lifeBeside, b.director(lab.GRPC), load)
	run := beside.run
	// the whole run is in the transaction: a step before the run could not keep it open
	beside.run = func(ctx context.Context) (result bench.Result, err error) {
		err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) (err error) {
			if _, err = rowsOf[struct{ ID string }](ctx, tx, "write.sql"); err == nil {
				result, err = run(ctx)
			}
			return err
		})
		return result, err
	}
	return prepareEach([]arm{b.arm(lifeAlone, b.director(lab.GRPC), load), beside}, b.script("openmatch_clean.sql"),
		b.settle), nil
}

func writerClaims(Options) []claim {
	return []claim{
		{"created until the assignment is seen, p50 with a forgotten writer, compared with none",
			ratio(lifeBeside, lifeAlone, p50), atMost(1.2)},
		noFailures(lifeAlone, lifeBeside),
	}
}
