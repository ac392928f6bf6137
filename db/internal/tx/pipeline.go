package tx

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// DB is what statements run on: a pool, a connection, a transaction. It is the DBTX of code that sqlc generates.
type DB interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Sender is a [DB] that runs several statements in one round trip.
type Sender interface {
	SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults
}

// Pipeline sends statements in one round trip. They run one after the other, each sees what was committed before it
// began, and only their results come together. The zero value is empty. It is for one goroutine and one Send.
type Pipeline struct {
	pgBatch pgx.Batch
	readers []func(context.Context, DB) error
}

// Queue adds a statement to the pipeline. query runs exactly one statement; it is called twice: first to learn the
// statement, then by Send to read the result, which goes into into.
func Queue[Res any](p *Pipeline, into *Res, query func(context.Context, DB) (Res, error)) {
	_, _ = query(context.Background(), recorder{&p.pgBatch})
	p.readers = append(p.readers, func(ctx context.Context, results DB) (err error) {
		*into, err = query(ctx, results)
		return err
	})
}

// Empty reports whether the pipeline has no statements.
func (p *Pipeline) Empty() bool { return len(p.readers) == 0 }

// Send runs the statements in order, up to the first error, which it returns. An empty pipeline takes no round trip.
func (p *Pipeline) Send(ctx context.Context, on Sender) error {
	if p.Empty() {
		return nil
	}
	results := on.SendBatch(ctx, &p.pgBatch)
	for _, read := range p.readers {
		if err := read(ctx, replayer{results}); err != nil {
			_ = results.Close() // its error is a consequence of the first one
			return err
		}
	}
	return results.Close()
}

var errQueued = errors.New("queued, not run")

// recorder is a [DB] that records statements and runs none.
type recorder struct{ batch *pgx.Batch }

func (r recorder) Exec(_ context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	r.batch.Queue(sql, args...)
	return pgconn.CommandTag{}, errQueued
}

func (r recorder) Query(_ context.Context, sql string, args ...any) (pgx.Rows, error) {
	r.batch.Queue(sql, args...)
	return nil, errQueued
}

func (r recorder) QueryRow(_ context.Context, sql string, args ...any) pgx.Row {
	r.batch.Queue(sql, args...)
	return failedRow{errQueued}
}

// replayer is a [DB] that returns the results of a batch, in the order of its statements.
type replayer struct{ results pgx.BatchResults }

func (r replayer) Exec(context.Context, string, ...any) (pgconn.CommandTag, error) {
	return r.results.Exec()
}

func (r replayer) Query(context.Context, string, ...any) (pgx.Rows, error) { return r.results.Query() }

func (r replayer) QueryRow(context.Context, string, ...any) pgx.Row { return r.results.QueryRow() }

type failedRow struct{ err error }

// Scan implements pgx.Row.
func (r failedRow) Scan(...any) error { return r.err }
