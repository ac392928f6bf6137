package openmatch

import (
	"context"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// traceContext carries traces from callers (W3C Trace Context).
var traceContext propagation.TraceContext

// traceCalls returns the options that make a span of each call over gRPC, as a child of the caller's span; none for a
// nil provider. OpenTelemetry metrics are off: Prometheus counts calls.
func traceCalls(provider trace.TracerProvider) []grpc.ServerOption {
	if provider == nil {
		return nil
	}
	probes := filters.HealthCheck()
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(
		otelgrpc.WithTracerProvider(provider), otelgrpc.WithPropagators(traceContext),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()), otelgrpc.WithFilter(filters.Not(probes))))}
}

// spanOfRequest passes the span of a REST request to the gateway's call.
func spanOfRequest(ctx context.Context, _ *http.Request) metadata.MD {
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return metadata.New(carrier)
}
