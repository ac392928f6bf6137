package query

import (
	"context"

	"github.com/lattice-director/director/db/internal/tx"
)

// Tx returns the transaction that the statements run in; it panics outside of one.
func (q *Queries) Tx() *tx.Tx { return q.db.(*tx.Tx) }

// Deferred returns the pipeline of statements that run with COMMIT, or with [Queries.Flush].
func (q *Queries) Deferred() *tx.Pipeline { return q.Tx().Deferred() }

// Flush runs the deferred statements, for a statement that must see what they wrote.
func (q *Queries) Flush(ctx context.Context) error { return q.Tx().Flush(ctx) }

// Send runs a pipeline.
func (q *Queries) Send(ctx context.Context, p *tx.Pipeline) error {
	return p.Send(ctx, q.db.(tx.Sender))
}

// Queue adds a query to a pipeline. Its result is in into after [Queries.Send], or after the commit of a deferred one.
func Queue[Arg, Res any](p *tx.Pipeline, into *Res, statement func(*Queries, context.Context, Arg) (Res, error),
	arg Arg) {
	tx.Queue(p, into, func(ctx context.Context, db tx.DB) (Res, error) { return statement(New(db), ctx, arg) })
}

// QueueExec adds a statement without a result to a pipeline.
func QueueExec[Arg any](p *tx.Pipeline, statement func(*Queries, context.Context, Arg) error, arg Arg) {
	tx.Queue(p, &struct{}{}, func(ctx context.Context, db tx.DB) (struct{}, error) {
		return struct{}{}, statement(New(db), ctx, arg)
	})
}
