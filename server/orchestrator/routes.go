package orchestrator

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/server/rest"
)

// NewREST returns the handler. Errors: a malformed trusted proxy.
func NewREST(o RESTOptions) (*REST, error) {
	o = o.withDefaults()
	s := &REST{options: o, streamTimeout: streamTimeout}
	engine, err := rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies, ErrorWriter: writeError,
		ListenerName: fault.ListenerOrchestrator,
		QuietRoutes:  slices.Concat(probes, apiRoutes), UntracedRoutes: probes,
	})
	if err != nil {
		return nil, err
	}
	// As upstream: another method of a known path is 404.
	engine.HandleMethodNotAllowed = false
	// Room ids are compared in the form in which they are sent.
	engine.UseEscapedPath, engine.UnescapePathValues = true, false
	engine.Use(limitAnswer, requireID)
	if len(o.CORSOrigins) > 0 {
		engine.Use(crossOrigin(o.CORSOrigins))
	}
	s.mountProbes(engine)
	s.mountAPI(engine)
	s.handler = engine
	return s, nil
}

// apiRoutes are the route patterns of the API. The access log only contains their failures: changes have an audit line,
// and dashboards send a read every second.
var apiRoutes = []string{
	"/v1/stats", "/v1/instances", "/v1/instances/:id", "/v1/instances/:id/rooms", "/v1/instances/:id/drain",
	"/v1/instances/:id/undrain",
	"/v1/rooms", "/v1/rooms/:id", "/v1/events",
}

// mountAPI mounts the routes that need a key. The cheapest check comes first; a body is read only after the key is
// checked.
func (s *REST) mountAPI(engine *gin.Engine) {
	failures := rest.NewLimiter(authFailures)
	gate := rest.NewGate(maxCalls, s.options.Metrics, s.options.Log)
	// One limiter for all groups: a wrong key counts once, whatever it was tried on.
	key := rest.RequireKey(s.options.AdminKeys, "", failures)
	here := rest.RequireHere(s.options.Region, s.options.CheckHere)

	reads := engine.Group("/v1", gate.RefuseWhenFull, key, here, gate.Enter, rest.SetDeadline(s.options.ReadTimeout))
	mountGet(reads, "/stats", rest.Handle(http.StatusOK, s.showStats))
	mountGet(reads, "/instances", rest.Handle(http.StatusOK, s.listInstances))
	mountGet(reads, "/instances/:id", rest.Handle(http.StatusOK, s.showInstance))
	mountGet(reads, "/instances/:id/rooms", rest.Handle(http.StatusOK, s.listRoomsOfInstance))
	mountGet(reads, "/rooms", rest.Handle(http.StatusOK, s.listRooms))
	mountGet(reads, "/rooms/:id", rest.Handle(http.StatusOK, s.showRoom))

	// The audit comes after the key, because its line names the caller, and before the region, because a refusal is an
	// outcome as well.
	changes := engine.Group("/v1", gate.RefuseWhenFull, key, s.auditChange, here)
	bodies := rest.NewBodies(maxBodies, bodyTimeout)
	// The body is read before the call counts as one under way: a slow sender holds a place among bodies, not among
	// calls.
	changes.POST("/rooms", bodies.Read, gate.Enter, rest.Handle(http.StatusCreated, s.createRoom))
	changes.DELETE("/rooms/:id", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.destroyRoom))
	changes.POST("/instances/:id/drain", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.drainInstance))
	changes.POST("/instances/:id/undrain", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.undrainInstance))

	keyParam := "" // "": the key is accepted in a header only
	if s.options.QueryKey {
		keyParam = "key"
	}
	// Streams do not enter the gate, because they last, and have a limit of their own.
	mountGet(engine.Group("/v1", rest.RequireKey(s.options.AdminKeys, keyParam, failures), here), "/events",
		s.streamEvents)
}

// requireID answers paths such as /v1/instances//rooms, which gin matches to a route, as unknown routes.
func requireID(c *gin.Context) {
	if id, ok := c.Params.Get("id"); ok && id == "" {
		rest.Fail(c, errNotFound)
	}
}
