package projects

import (
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

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
	engine.HandleMethodNotAllowed = false // Nexis answers 404
	// The counter stands before all checks: refused requests count, too.
	engine.Use(func(*gin.Context) { f.requestCount.Add(1) })
	// A preflight request carries no token, so it is answered before the routes, which require one.
	if len(o.CORSOrigins) > 0 {
		engine.Use(crossOrigin(o.CORSOrigins))
	}
	f.mountRoutes(engine)
	return engine, nil
}

func (f *face) mountRoutes(engine *gin.Engine) {
	// Health needs no slot and no token: it must answer while all slots are taken.
	engine.GET("/health", rest.Handle(http.StatusOK, f.answerHealth))
	gate := rest.NewGate(maxCalls, f.options.Metrics, f.options.Log)
	bodies := rest.NewBodies(maxBodies, bodyTimeout)
	// The token comes before the body: nobody without one has a body read.
	calls := engine.Group("", gate.RefuseWhenFull,
		rest.RequireSecret(headerToken, f.options.Tokens, rest.NewLimiter(f.options.FailureRate)),
		bodies.Read, replaceAbsentBody, gate.Enter, rest.SetDeadline(f.options.CallTimeout))
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

// replaceAbsentBody replaces an absent body by an empty object, because all fields of some requests are optional. It
// stands behind [rest.Bodies.Read], whose bodies know their length.
func replaceAbsentBody(c *gin.Context) {
	if body, ok := c.Request.Body.(interface{ Len() int }); ok && body.Len() == 0 &&
		c.Request.Method == http.MethodPost {
		c.Request.Body = io.NopCloser(strings.NewReader("{}"))
	}
}
