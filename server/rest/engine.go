package rest

import (
	"fmt"
	"log/slog"
	"slices"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/contrib/instrumentation/github.com/gin-gonic/gin/otelgin"
	"go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Options are what all routes of an engine share. The zero value is usable: it logs, counts and traces nothing, trusts
// no proxy and answers no other origin.
type Options struct {
	Log            *slog.Logger         // nil: no log
	Metrics        *Metrics             // nil: not counted
	Tracer         trace.TracerProvider // nil: not traced
	TrustedProxies []string             // addresses or CIDRs whose X-Forwarded-For is believed
	CORSOrigins    []string             // "https://play.example" or "*"; none: CORS is off
	QuietRoutes    []string             // patterns, as in "/healthz", logged at debug level unless they fail
	UntracedRoutes []string             // patterns of which no traces are made
}

// New makes an engine that answers everything, unknown routes and panics included, with a request id and in JSON. It
// fails when a proxy or an origin is not written as it should be.
func New(o Options) (*gin.Engine, error) {
	if gin.Mode() != gin.ReleaseMode {
		gin.SetMode(gin.ReleaseMode) // gin's only switch for its chatter is a global one.
	}
	engine := gin.New()
	engine.ContextWithFallback = true
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false
	engine.RemoteIPHeaders = []string{"X-Forwarded-For"}
	if err := engine.SetTrustedProxies(o.TrustedProxies); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	chain, err := o.middlewares()
	if err != nil {
		return nil, err
	}
	engine.Use(chain...)
	engine.NoRoute(notFound)
	engine.NoMethod(methodNotAllowed)
	return engine, nil
}

// middlewares are in the order in which a request meets them: what observes stands around what may fail.
func (o Options) middlewares() ([]gin.HandlerFunc, error) {
	log := slog.New(slog.DiscardHandler)
	if o.Log != nil {
		log = slog.New(LogHandler(o.Log.Handler()))
	}
	chain := []gin.HandlerFunc{requestID}
	if o.Tracer != nil {
		chain = append(chain, tracing(o.Tracer, o.UntracedRoutes))
	}
	chain = append(chain, accessLog(log, o.QuietRoutes))
	if o.Metrics != nil {
		chain = append(chain, o.Metrics.observe)
	}
	chain = append(chain, recovery(log))
	if len(o.CORSOrigins) > 0 {
		answerOrigins, err := crossOrigin(o.CORSOrigins)
		if err != nil {
			return nil, err
		}
		chain = append(chain, answerOrigins)
	}
	return chain, nil
}

// tracing opens a span for each request, a child of the caller's when its traceparent says so (W3C Trace Context).
func tracing(provider trace.TracerProvider, untraced []string) gin.HandlerFunc {
	return otelgin.Middleware("director",
		otelgin.WithTracerProvider(provider),
		otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithMeterProvider(noop.NewMeterProvider()), // Prometheus counts requests already.
		otelgin.WithGinFilter(func(c *gin.Context) bool { return !slices.Contains(untraced, c.FullPath()) }),
	)
}
