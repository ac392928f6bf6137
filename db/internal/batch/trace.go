package batch

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// startSpan puts the batch, and the SQL in it, into the trace of the first caller that is traced. The traces of the
// other callers are linked to it. Without a traced caller there is no span.
func startSpan[Req, Res any](ctx context.Context, group string,
	calls []*Call[Req, Res]) (_ context.Context, end func()) {
	first, links := spansOf(calls)
	if first == nil {
		return ctx, func() {}
	}
	tracer := first.TracerProvider().Tracer("github.com/lattice-director/director/db")
	ctx, span := tracer.Start(trace.ContextWithSpan(ctx, first), "group "+group,
		trace.WithLinks(links...), trace.WithAttributes(attribute.Int("director.calls", len(calls))))
	return ctx, func() { span.End() }
}

// spansOf returns the span of the first caller that is traced, and links to those of the others. first is nil if no
// caller is traced.
func spansOf[Req, Res any](calls []*Call[Req, Res]) (first trace.Span, others []trace.Link) {
	for _, c := range calls {
		span := trace.SpanFromContext(c.ctx)
		if !span.IsRecording() {
			continue
		}
		if first == nil {
			first = span
			continue
		}
		others = append(others, trace.Link{SpanContext: span.SpanContext()})
	}
	return first, others
}
