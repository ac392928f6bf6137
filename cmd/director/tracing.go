package main

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/exaring/otelpgx"
	"github.com/jackc/pgx/v5"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// tracing exports spans. The zero value does nothing.
type tracing struct {
	// nil: tracing is off, and every method does nothing.
	spanProvider *sdktrace.TracerProvider
	log          *slog.Logger
}

// startTracing exports spans to the OTLP endpoint; "" turns tracing off. OpenTelemetry itself reads its other OTEL_*
// variables (headers, sampler, service name, …).
func startTracing(ctx context.Context, endpoint string, log *slog.Logger) (tracing, error) {
	if endpoint == "" {
		return tracing{}, nil
	}
	exporter, err := otlptracehttp.New(ctx,
		otlptracehttp.WithEndpointURL(strings.TrimRight(endpoint, "/")+"/v1/traces"))
	if err != nil {
		return tracing{}, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	// The environment is last, so that OTEL_SERVICE_NAME wins over our name.
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "director"), attribute.String("service.version", buildVersion().Version)),
		resource.WithFromEnv())
	if err != nil {
		return tracing{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// OpenTelemetry has one error handler in a process. Its default writes to stderr and bypasses our log.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.LogAttrs(context.Background(), slog.LevelWarn, "cannot export traces", slog.Any("error", err))
	}))
	return tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), log}, nil
}

// tracerProvider returns nil when tracing is off.
func (t tracing) tracerProvider() trace.TracerProvider {
	if t.spanProvider == nil {
		return nil // not the typed nil of the field, which would be no nil interface
	}
	return t.spanProvider
}

// queryTracer returns a tracer of SQL statements, or nil when tracing is off. A span has the statement's text, which
// contains no values, and nothing about the connection.
func (t tracing) queryTracer() pgx.QueryTracer {
	if t.spanProvider == nil {
		return nil
	}
	return otelpgx.NewTracer(
		otelpgx.WithTracerProvider(t.spanProvider), otelpgx.WithMeterProvider(noop.NewMeterProvider()),
		otelpgx.WithDisableConnectionDetailsInAttributes(), otelpgx.WithSpanNameFunc(queryName),
	)
}

// queryName returns the name of a statement from queries/, whose first line is "-- name: Heartbeats :many", or else its
// verb.
func queryName(statement string) string {
	if line, ok := strings.CutPrefix(statement, "-- name: "); ok {
		name, _, _ := strings.Cut(line, " ")
		return name
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
	return verb
}

// stop exports the remaining spans, for at most 5 s.
func (t tracing) stop() {
	if t.spanProvider == nil {
		return
	}
	// A context of its own: that of the command has ended.
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.spanProvider.Shutdown(ctx); err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "cannot export the last traces", slog.Any("error", err))
	}
}
