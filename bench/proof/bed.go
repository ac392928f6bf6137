package proof

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/lattice-director/director/bench"
	"github.com/lattice-director/director/bench/lab"
)

// bed is a laboratory in which an experiment is made.
type bed struct {
	*lab.Lab

	options Options
	pool    *pgxpool.Pool // to look at what the director did, and to make it a past
	mint    bench.MintFunc
}

// in makes an experiment in a laboratory of its own. Its ctx ends when something of the laboratory dies, too.
func (o Options) in(ctx context.Context, l lab.Options, do func(ctx context.Context, b *bed) error) (err error) {
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
	return do(ctx, &bed{Lab: in, options: o, pool: pool, mint: mint})
}

// side is who is asked: the director, or what it is compared with.
type side struct {
	urls  []string
	meter bench.Meter
}

// director is all its replicas.
func (b *bed) director() side { return side{lab.URLs(b.Replicas()), b.Lab} }

// naive is as many processes that place naively and answer the no-ops. The first time it starts them.
func (b *bed) naive(ctx context.Context) (side, error) {
	baselines, err := b.Baselines(ctx)
	if err != nil {
		return side{}, err
	}
	return side{lab.URLs(baselines), b.Meter(baselines...)}, nil
}

// run puts a load on one side. The load says all but whom to ask and how.
func (b *bed) run(ctx context.Context, on side, load bench.Options) (bench.Result, error) {
	load.URLs, load.FleetToken, load.AccessToken = on.urls, b.FleetToken(), b.mint
	if load.Meter == nil {
		load.Meter = on.meter
	}
	return bench.Run(ctx, load)
}

// trial is a load that is put on one side once a round.
func (b *bed) trial(name string, on side, load bench.Options) trial {
	return trial{name, func(ctx context.Context) (bench.Result, error) { return b.run(ctx, on, load) }}
}

// settled lets Postgres tidy up before each of the trials: none pays for what another has left.
func (b *bed) settled(trials ...trial) (after []trial) {
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
