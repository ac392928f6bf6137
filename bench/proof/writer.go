package proof

import (
	"context"
	_ "embed"

	"github.com/jackc/pgx/v5"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// Players arrive at a fixed rate, create a ticket, and watch it until it is assigned, while a director fetches matches
// and assigns them. Then the same is measured while a transaction that has written stays open. All tickets settled
// meanwhile are newer than it, so that a reader that starts at the oldest open transaction reads all of them each time.
var writer = Experiment{
	Name: "writer", Title: "A forgotten writer", Takes: "1 min",
	Run:   inOneLab(lab.Options{}, (*testbed).livesBesideWriter, rounds.writerSection),
	About: "Whether a forgotten open transaction that has written delays assignments",
}

// The trials of a round, by their names in the report.
const (
	lifeAlone  = "ticket life"
	lifeBeside = "ticket life, with a forgotten writer"
)

func (b *testbed) livesBesideWriter(context.Context) ([]trial, error) {
	director := side{[]string{b.Replicas()[0].GRPC}, b.Lab}
	alone, beside := b.openMatch(lifeAlone, director, "ticket-life"), b.openMatch(lifeBeside, director, "ticket-life")
	return b.withoutTickets(alone, trial{beside.name, b.besideWriter(beside.run)}), nil
}

func (all rounds) writerSection(Options) Section {
	lives := all.typical(lifeAlone, lifeBeside)
	return Section{Findings: all.besideWriter(),
		Runs: lives}
}

// write is a statement that makes a transaction one that has written.
//
//go:embed write.sql
var write string

// besideWriter keeps a transaction that has written open during a run.
func (b *testbed) besideWriter(run func(context.Context) (bench.Result, error)) func(context.Context) (bench.Result, error) {
	return func(ctx context.Context) (result bench.Result, err error) {
		err = pgx.BeginFunc(ctx, b.pool, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, write); err != nil {
				return err
			}
			result, err = run(ctx)
			return err
		})
		return result, err
	}
}

func (all rounds) besideWriter() []Finding {
	slower := atMost("created until the assignment is seen, p50 with a forgotten writer, compared with none",
		all.compared(lifeBeside, lifeAlone, p50), 1.2, times)
	return []Finding{
		noted(slower, "%s, without it %s", all.show(lifeBeside, p50, millis), all.show(lifeAlone, p50, millis)),
		all.failures(lifeAlone, lifeBeside),
	}
}
