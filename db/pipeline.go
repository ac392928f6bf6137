package db

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline sends queries in one round trip. They run one after the other, each seeing what was committed before it; only
// their answers come together. It is for one goroutine and one send.
type pipeline struct {
	batch pgx.Batch
	read  []func(context.Context, DBTX) error
}

// ask puts a query into the pipeline; send fills in its answer.
func ask[Arg, Res any](p *pipeline, into *Res, query func(*Queries, context.Context, Arg) (Res, error), arg Arg) {
	_, _ = query(New(queuer{&p.batch}), context.Background(), arg)
	p.read = append(p.read, func(ctx context.Context, answers DBTX) (err error) {
		*into, err = query(New(answers), ctx, arg)
		return err
	})
}

// tell puts a statement without an answer into the pipeline.
func tell[Arg any](p *pipeline, query func(*Queries, context.Context, Arg) error, arg Arg) {
	ask(p, &struct{}{}, func(q *Queries, ctx context.Context, arg Arg) (struct{}, error) {
		return struct{}{}, query(q, ctx, arg)
	}, arg)
}

// send runs what was asked, in order, up to the first error.
func (p *pipeline) send(ctx context.Context, q *Queries) error {
	if len(p.read) == 0 {
		return nil
	}
	results := q.db.(interface {
		SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
	}).SendBatch(ctx, &p.batch)
	for _, read := range p.read {
		if err := read(ctx, answers{results}); err != nil {
			_ = results.Close() // the first error is the one to tell
			return err
		}
	}
	return results.Close()
}

var errQueued = errors.New("queued, not run")

// queuer is a database that only notes what it is asked.
type queuer struct{ batch *pgx.Batch }

func (b queuer) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	b.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, errQueued
}

func (b queuer) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	b.batch.Queue(sql, args...)
	return nil, errQueued
}

func (b queuer) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	b.batch.Queue(sql, args...)
	return failedRow{errQueued}
}

// answers is a database that answers what it was asked before, in the same order.
type answers struct{ results pgx.BatchResults }

func (a answers) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return a.results.Exec()
}

func (a answers) Query(context.Context, string, ...any) (pgx.Rows, error) { return a.results.Query() }

func (a answers) QueryRow(context.Context, string, ...any) pgx.Row { return a.results.QueryRow() }
