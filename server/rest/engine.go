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

	"github.com/lattice-director/director/internal/base/fault"
)

// Options configure all routes of an engine. The zero value is usable: it logs, counts and traces nothing, trusts no
// proxy and allows no cross-origin calls.
type Options struct {
	Log            *slog.Logger         // nil: no log
	Metrics        *Metrics             // nil: no metrics
	Tracer         trace.TracerProvider // nil: no traces
	TrustedProxies []string             // addresses or CIDRs whose X-Forwarded-For is trusted
	CORSOrigins    []string             // "https://play.example" or "*"; empty: CORS is off
	QuietRoutes    []string             // patterns, as in "/healthz", logged at debug level unless they fail
	UntracedRoutes []string             // patterns that are not traced
	ErrorWriter    ErrorWriter          // nil: errors are problem documents
	// ListenerName is the listener of another cell whose address callers get for its regions; "": fault.ListenerAPI.
	ListenerName string
	// OnRefusal is called with each request of a player that is answered with an error. It must not wait. nil: no call.
	OnRefusal func(fault.Refusal)
}

// New returns an engine that answers every request with a request id. It writes errors, also of unknown routes and
// panics, as problem documents or with the ErrorWriter of the options. Errors: a malformed proxy or origin.
func New(o Options) (*gin.Engine, error) {
	if gin.Mode() != gin.ReleaseMode {
		gin.SetMode(gin.ReleaseMode) // gin's debug output can only be turned off globally.
	}
	engine := gin.New()
	// So that a gin.Context that is passed on as a context ends with its request.
	engine.ContextWithFallback = true
	engine.HandleMethodNotAllowed = true
	engine.RedirectTrailingSlash = false // a redirect would hide a wrong base URL, and drop the body of a POST
	engine.RemoteIPHeaders = []string{forwardedFor}
	proxies, err := ParseProxies(o.TrustedProxies)
	if err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	if err := engine.SetTrustedProxies(proxies.texts()); err != nil {
		return nil, fmt.Errorf("trusted proxies: %w", err)
	}
	chain, err := o.middlewareChain(proxies)
	if err != nil {
		return nil, err
	}
	engine.Use(chain...)
	engine.NoRoute(notFound)
	engine.NoMethod(methodNotAllowed)
	return engine, nil
}

// middlewareChain returns the chain in the order in which a request passes it: observers enclose the handlers that may
// fail.
func (o Options) middlewareChain(proxies Proxies) ([]gin.HandlerFunc, error) {
	log := slog.New(slog.DiscardHandler)
	if o.Log != nil {
		log = slog.New(LogHandler(o.Log.Handler()))
	}
	chain := []gin.HandlerFunc{requestID, proxies.resolveClient(log, o.Metrics)}
	if o.ErrorWriter != nil || o.ListenerName != "" {
		chain = append(chain, func(c *gin.Context) {
			s := scopeOf(c)
			s.errorWriter, s.listenerName = o.ErrorWriter, o.ListenerName
		})
	}
	if o.Tracer != nil {
		chain = append(chain, traceRequests(o.Tracer, o.UntracedRoutes))
	}
	chain = append(chain, accessLog(log, o.QuietRoutes))
	if o.Metrics != nil {
		chain = append(chain, o.Metrics.observeRequest)
	}
	if o.OnRefusal != nil {
		chain = append(chain, reportRefusals(o.OnRefusal))
	}
	// Within the log and the metrics, which then see the 500 of a panic.
	chain = append(chain, recoverPanics(log), checkText)
	if len(o.CORSOrigins) > 0 {
		allowOrigins, err := crossOrigin(o.CORSOrigins)
		if err != nil {
			return nil, err
		}
		chain = append(chain, allowOrigins)
	}
	return chain, nil
}

// traceRequests starts a span for each request, as a child of the caller's span if the request has a traceparent (W3C
// Trace Context).
func traceRequests(provider trace.TracerProvider, untraced []string) gin.HandlerFunc {
	return otelgin.Middleware("director",
		otelgin.WithTracerProvider(provider),
		otelgin.WithPropagators(propagation.TraceContext{}),
		otelgin.WithMeterProvider(noop.NewMeterProvider()), // Metrics counts requests already.
		otelgin.WithGinFilter(func(c *gin.Context) bool { return !slices.Contains(untraced, c.FullPath()) }),
	)
}
