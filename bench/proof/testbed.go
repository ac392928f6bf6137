package proof

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// testbed is the laboratory of an experiment.
type testbed struct {
	*lab.Lab

	options Options
	pool    *pgxpool.Pool // to read and to fill the database
	mint    bench.MintFunc
}

// in runs an experiment in a laboratory of its own. Its ctx also ends when a process of the laboratory fails.
func (o Options) in(ctx context.Context, l lab.Options, do func(ctx context.Context, b *testbed) error) (err error) {
	o.say("starting Postgres and %d of the director", max(l.Replicas, 1))
	in, mint, err := o.Start(ctx, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, in.Close()) }()
	ctx, end := in.Living(ctx)
	defer end()
	pool, err := pgxpool.New(ctx, in.URL())
	if err != nil {
		return err
	}
	defer pool.Close()
	return do(ctx, &testbed{Lab: in, options: o, pool: pool, mint: mint})
}

// inOneLab is the Run of an experiment that makes all its trials in one laboratory. section says what is found.
func inOneLab(
	l lab.Options, trials func(b *testbed, ctx context.Context) ([]trial, error),
	section func(all rounds, o Options) Section,
) func(context.Context, Options) (Section, error) {
	return func(ctx context.Context, o Options) (Section, error) {
		var all rounds
		err := o.in(ctx, l, func(ctx context.Context, b *testbed) error {
			made, err := trials(b, ctx)
			if err != nil {
				return err
			}
			all, err = o.measure(ctx, made...)
			return err
		})
		if err != nil {
			return Section{}, err
		}
		return section(all, o), nil
	}
}

// side is the target of a load: the director, or a baseline.
type side struct {
	urls  []string
	meter bench.Meter
}

// director returns all replicas.
func (b *testbed) director() side { return side{lab.URLs(b.Replicas()), b.Lab} }

// naive returns the processes of the baselines (naive placement and no-ops), as many as there are replicas. The first
// call starts them.
func (b *testbed) naive(ctx context.Context) (side, error) {
	baselines, err := b.Baselines(ctx)
	if err != nil {
		return side{}, err
	}
	return side{lab.URLs(baselines), b.Meter(baselines...)}, nil
}

// run runs a load on one side. It sets the URLs, the tokens and, unless there is one, the meter.
func (b *testbed) run(ctx context.Context, on side, load bench.Options) (bench.Result, error) {
	load.URLs, load.FleetToken, load.OpsToken, load.AccessToken = on.urls, b.FleetToken(), b.OpsToken(), b.mint
	if load.Meter == nil {
		load.Meter = on.meter
	}
	return bench.Run(ctx, load)
}

// trial makes a trial of a load on one side.
func (b *testbed) trial(name string, on side, load bench.Options) trial {
	return trial{name, func(ctx context.Context) (bench.Result, error) { return b.run(ctx, on, load) }}
}

// settled vacuums the database before each trial, so that no trial pays for the rows of an earlier one.
func (b *testbed) settled(trials ...trial) (after []trial) {
	for _, t := range trials {
		after = append(after, trial{t.name, func(ctx context.Context) (bench.Result, error) {
			if err := b.sql(ctx, "settle.sql"); err != nil {
				return bench.Result{}, err
			}
			return t.run(ctx)
		}})
	}
	return after
}
