package projects

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

// Options configure the API. Store, Tokens and the Sealer of Secrets are required.
type Options struct {
	Store   *db.Store            // The caller closes it.
	Region  string               // of new projects; "" means global
	Tokens  []string             // internal tokens of callers; several allow rotation
	Secrets token.ProjectSecrets // that sign the tokens of clients

	CORSOrigins    []string      // whose pages may call the API; "*" means all
	TrustedProxies []string      // whose X-Forwarded-For is trusted; see rest.Options
	FailureRate    rest.Rate     // of wrong internal tokens from one address; zero means no limit
	CallTimeout    time.Duration // of a call, after its body was read; 0 means 900 ms

	Log     *slog.Logger         // nil: no log
	Metrics *rest.Metrics        // nil: no metrics
	Tracer  trace.TracerProvider // nil: no traces
}

const (
	maxCalls    = 256 // at a time
	maxBodies   = 512 // read at a time; together at most 32 MiB
	bodyTimeout = 5 * time.Second

	headerToken = "X-Nexis-Internal-Token"
)

// face is the API.
type face struct {
	options Options

	startedAt                 time.Time
	requestCount, deniedCount atomic.Int64 // of this process
}

// New returns the handler of the API. Errors: a malformed trusted proxy.
func New(o Options) (http.Handler, error) {
	if o.Region == "" {
		o.Region = "global"
	}
	if o.CallTimeout == 0 {
		o.CallTimeout = 900 * time.Millisecond
	}
	f := &face{options: o, startedAt: time.Now()}
	engine, err := rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies, ErrorWriter: writeError,
		ListenerName: fault.ListenerControl,
		QuietRoutes:  []string{"/health", "/metrics"}, UntracedRoutes: []string{"/health"},
	})
	if err != nil {
		return nil, err
	}
	engine.HandleMethodNotAllowed = false // Nexis answers 404.
	engine.Use(func(*gin.Context) { f.requestCount.Add(1) })
	if len(o.CORSOrigins) > 0 {
		engine.Use(crossOrigin(o.CORSOrigins))
	}
	f.mountRoutes(engine)
	return engine, nil
}

func (f *face) mountRoutes(engine *gin.Engine) {
	engine.GET("/health", rest.Handle(http.StatusOK, f.answerHealth))
	gate := rest.NewGate(maxCalls, f.options.Metrics, f.options.Log)
	bodies := rest.NewBodies(maxBodies, bodyTimeout)
	// The token comes before the body: nobody without one has a body read.
	calls := engine.Group("", gate.RefuseWhenFull,
		rest.RequireSecret(headerToken, f.options.Tokens, rest.NewLimiter(f.options.FailureRate)),
		bodies.Read, absentIsEmpty, gate.Enter, rest.SetDeadline(f.options.CallTimeout))
	calls.GET("/metrics", rest.Handle(http.StatusOK, f.showCounters))
	calls.POST("/projects", rest.Handle(http.StatusCreated, f.createProject))
	calls.GET("/projects", rest.Handle(http.StatusOK, f.listProjects))
	keys := calls.Group("/projects/:id/keys", f.checkProject)
	keys.POST("", rest.Handle(http.StatusCreated, f.createKey))
	keys.GET("", rest.Handle(http.StatusOK, f.listKeys))
	keys.POST("/:keyId/revoke", rest.Handle(http.StatusOK, f.revokeKey))
	keys.POST("/:keyId/rotate", rest.Handle(http.StatusCreated, f.rotateKey))
	calls.POST("/tokens", rest.Handle(http.StatusOK, f.mintToken))
	calls.GET("/internal/key-status", rest.Handle(http.StatusOK, f.keyStatus))
}

// checkProject refuses a project in the path whose region another cell serves.
func (f *face) checkProject(c *gin.Context) {
	if err := f.options.Store.CheckProjectHere(c.Request.Context(), c.Param("id")); err != nil {
		rest.Fail(c, err)
	}
}

// absentIsEmpty replaces an absent body by an empty object, because all fields of some requests are optional. It stands
// behind [rest.Bodies.Read], whose bodies know their length.
func absentIsEmpty(c *gin.Context) {
	if body, ok := c.Request.Body.(interface{ Len() int }); ok && body.Len() == 0 &&
		c.Request.Method == http.MethodPost {
		c.Request.Body = io.NopCloser(strings.NewReader("{}"))
	}
}
