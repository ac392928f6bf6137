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

// tracing sends spans away; the zero value does nothing.
type tracing struct {
	spans *sdktrace.TracerProvider
	log   *slog.Logger
}

// startTracing sends spans to the OTLP endpoint, nowhere if that is "". OpenTelemetry reads its further OTEL_* variables
// (headers, sampler, service name, …) by itself.
func startTracing(ctx context.Context, endpoint string, log *slog.Logger) (tracing, error) {
	if endpoint == "" {
		return tracing{}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(strings.TrimRight(endpoint, "/")+"/v1/traces"))
	if err != nil {
		return tracing{}, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "director"), attribute.String("service.version", buildVersion().Version)), resource.WithFromEnv())
	if err != nil {
		return tracing{}, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	// OpenTelemetry has one such handler per process and would write to stderr past our log.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.LogAttrs(context.Background(), slog.LevelWarn, "traces could not be sent", slog.Any("error", err))
	}))
	return tracing{sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(about)), log}, nil
}

// provider is nil when nothing is traced.
func (t tracing) provider() trace.TracerProvider {
	if t.spans == nil {
		return nil
	}
	return t.spans
}

// queries traces what is asked of Postgres, nil when nothing is traced. Of a statement the text is told, which holds no
// value; of the connection nothing.
func (t tracing) queries() pgx.QueryTracer {
	if t.spans == nil {
		return nil
	}
	return otelpgx.NewTracer(
		otelpgx.WithTracerProvider(t.spans), otelpgx.WithMeterProvider(noop.NewMeterProvider()),
		otelpgx.WithDisableConnectionDetailsInAttributes(), otelpgx.WithSpanNameFunc(queryName),
	)
}

// queryName is the name that a statement of queries/ has: its first line is "-- name: Heartbeats :many".
func queryName(statement string) string {
	if line, ok := strings.CutPrefix(statement, "-- name: "); ok {
		name, _, _ := strings.Cut(line, " ")
		return name
	}
	verb, _, _ := strings.Cut(strings.TrimSpace(statement), " ")
	return verb
}

// stop sends what is left, for a few seconds at most.
func (t tracing) stop() {
	if t.spans == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := t.spans.Shutdown(ctx); err != nil {
		t.log.LogAttrs(ctx, slog.LevelWarn, "the last traces could not be sent", slog.Any("error", err))
	}
}
