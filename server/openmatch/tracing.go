package openmatch

import (
	"context"
	"net/http"

	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc"
	"go.opentelemetry.io/contrib/instrumentation/google.golang.org/grpc/otelgrpc/filters"
	"go.opentelemetry.io/contrib/instrumentation/net/http/otelhttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
)

// traceContext is how a caller says which trace its call belongs to, and how match functions are told (W3C Trace Context).
var traceContext propagation.TraceContext

// tracing opens spans for calls: for those that come in as children of the caller's, for those that go out as children of
// the call that they are made for. With a nil provider it does nothing.
type tracing struct{ provider trace.TracerProvider }

// ofServer traces what comes in over gRPC.
func (t tracing) ofServer() []grpc.ServerOption {
	if t.provider == nil {
		return nil
	}
	probes := filters.HealthCheck()
	return []grpc.ServerOption{grpc.StatsHandler(otelgrpc.NewServerHandler(append(t.overGRPC(), otelgrpc.WithFilter(filters.Not(probes)))...))}
}

// ofClient traces what goes out over gRPC.
func (t tracing) ofClient() []grpc.DialOption {
	if t.provider == nil {
		return nil
	}
	return []grpc.DialOption{grpc.WithStatsHandler(otelgrpc.NewClientHandler(t.overGRPC()...))}
}

// overGRPC is what both ways have alike. Prometheus counts calls already.
func (t tracing) overGRPC() []otelgrpc.Option {
	return []otelgrpc.Option{
		otelgrpc.WithTracerProvider(t.provider), otelgrpc.WithPropagators(traceContext), otelgrpc.WithMeterProvider(noop.NewMeterProvider()),
	}
}

// ofHTTP traces what goes out over HTTP.
func (t tracing) ofHTTP(next http.RoundTripper) http.RoundTripper {
	if t.provider == nil {
		return next
	}
	return otelhttp.NewTransport(next,
		otelhttp.WithTracerProvider(t.provider), otelhttp.WithPropagators(traceContext), otelhttp.WithMeterProvider(noop.NewMeterProvider()))
}

// ofRequest hands the span of a request on to the call that the gateway makes of it, within this process.
func ofRequest(ctx context.Context, _ *http.Request) metadata.MD {
	carrier := propagation.MapCarrier{}
	traceContext.Inject(ctx, carrier)
	return metadata.New(carrier)
}
