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

// traceContext carries traces from callers and to match functions (W3C Trace Context).
var traceContext propagation.TraceContext

// tracing makes spans: of incoming calls as children of the caller's span, of outgoing calls as children of the
// incoming call's. With a nil provider it does nothing.
type tracing struct{ provider trace.TracerProvider }

// ofServer traces incoming calls over gRPC.
func (t tracing) ofServer() []grpc.ServerOption {
	if t.provider == nil {
		return nil
	}
	probes := filters.HealthCheck()
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(append(t.overGRPC(),
		otelgrpc.WithFilter(filters.Not(probes)))...))}
}

// overGRPC returns the options of both directions. OpenTelemetry metrics are off: Prometheus counts calls.
func (t tracing) overGRPC() []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(traceContext),
		otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
	}
}

// ofRequest passes the span of a REST request to the gateway's call.
func ofRequest(ctx context.Context, _ *http.Request) metadata.MD {
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return metadata.New(carrier)
}
