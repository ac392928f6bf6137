package storetest

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Tracer calls functions at what a store does. Those that are nil are not called.
type Tracer struct {
	BeforeAcquire   func()           // before a connection is acquired
	BeforeStatement func(sql string) // before a statement, or a pipeline with the SQL of all its statements
	BeforePipeline  func(sql string) // before a pipeline, after BeforeStatement
	AfterStatement  func(sql string) // after a statement that was not in a pipeline
}

// tracedSQL is the key of a statement's SQL in its context.
type tracedSQL struct{}

// TraceAcquireStart implements pgxpool.AcquireTracer.
func (r *Tracer) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	if r.BeforeAcquire != nil {
		r.BeforeAcquire()
	}
	return ctx
}

// TraceAcquireEnd implements pgxpool.AcquireTracer.
func (*Tracer) TraceAcquireEnd(context.Context, *pgxpool.Pool, pgxpool.TraceAcquireEndData) {}

// TraceQueryStart implements pgx.QueryTracer.
func (r *Tracer) TraceQueryStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceQueryStartData) context.Context {
	if r.BeforeStatement != nil {
		r.BeforeStatement(data.SQL)
	}
	return context.WithValue(ctx, tracedSQL{}, data.SQL)
}

// TraceQueryEnd implements pgx.QueryTracer.
func (r *Tracer) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	if sql, ok := ctx.Value(tracedSQL{}).(string); ok && r.AfterStatement != nil {
		r.AfterStatement(sql)
	}
}

// TraceBatchStart implements pgx.BatchTracer.
func (r *Tracer) TraceBatchStart(ctx context.Context, _ *pgx.Conn, data pgx.TraceBatchStartData) context.Context {
	var all strings.Builder
	for _, q := range data.Batch.QueuedQueries {
		all.WriteString(q.SQL + "\n")
	}
	if r.BeforeStatement != nil {
		r.BeforeStatement(all.String())
	}
	if r.BeforePipeline != nil {
		r.BeforePipeline(all.String())
	}
	return ctx
}

// TraceBatchQuery implements pgx.BatchTracer.
func (*Tracer) TraceBatchQuery(context.Context, *pgx.Conn, pgx.TraceBatchQueryData) {}

// TraceBatchEnd implements pgx.BatchTracer.
func (*Tracer) TraceBatchEnd(context.Context, *pgx.Conn, pgx.TraceBatchEndData) {}
