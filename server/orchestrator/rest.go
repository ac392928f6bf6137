package orchestrator

import (
	"context"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// Roster is this replica's copy of the fleet. [roster.Roster] implements it.
type Roster interface {
	View() *roster.View // nil before the first read
	Instance(id string) (*roster.Instance, bool)
	AppendRoom(b []byte, id string) ([]byte, bool) // the room's JSON
}

// Lookup reads by id from the database, so that all replicas give the same answer. [db.Store] implements it.
type Lookup interface {
	FindAgent(ctx context.Context, region, id string) (db.InstanceInfo, error)
	FindRoom(ctx context.Context, region, id string) (db.RoomInfo, error)
}

// RESTOptions configure REST and SSE. Region, AdminKeys, Roster, Lookup, Commander, Follow and Ready are required
// unless NoAPI is set, which leaves only Ready required.
type RESTOptions struct {
	Region    string
	CheckHere func(region string) error // refuses a Region that another cell serves
	Roster    Roster
	Lookup    Lookup
	Commander Commander
	// [roster.Events.Stream]; it limits the number of streams
	FollowEvents func(ctx context.Context, lastEventID string) (Follower, error)
	// nil result: this replica is ready for traffic
	CheckReady func(ctx context.Context) error

	AdminKeys   []string
	NoAPI       bool     // serve only the probes
	QueryKey    bool     // accept the key as ?key= for SSE, because a browser's EventSource cannot send headers
	CORSOrigins []string // origins whose pages may call the API; "*" means all; empty: CORS is off

	TrustedProxies []string        // proxies whose X-Forwarded-For is trusted; see rest.Options
	CommandTimeout time.Duration   // within which Commander must receive the agent's ack; 0 means 10 s
	ReadTimeout    time.Duration   // of a read by id; 0 means 900 ms
	Stopping       context.Context // when it ends, all streams end; nil: never

	Log     *slog.Logger         // nil: no log
	Metrics *rest.Metrics        // nil: no metrics
	Tracer  trace.TracerProvider // nil: no traces
}

// REST serves the REST API and the events of a Rivalis orchestrator, in the format of upstream's: see answer.go. Safe
// for concurrent use.
type REST struct {
	options RESTOptions

	handler       *gin.Engine
	streamTimeout time.Duration // within which a caller of events must read one part
}

const (
	maxCalls  = 4096 // at a time, including commands that wait for an agent
	maxBodies = 1024 // read at a time; together at most 64 MiB

	bodyTimeout = 10 * time.Second
	// answerTime is the time in which a caller must read an answer.
	answerTime = time.Minute
)

// authFailures limits the failures of one address; it is upstream's limit.
var authFailures = rest.Rate{PerSecond: 1.0 / 6, Burst: 10}

// NewREST returns the handler. Errors: a malformed trusted proxy.
func NewREST(o RESTOptions) (*REST, error) {
	o = o.withDefaults()
	s := &REST{options: o, streamTimeout: 10 * time.Second}
	engine, err := rest.New(rest.Options{
		Log: o.Log, Metrics: o.Metrics, Tracer: o.Tracer, TrustedProxies: o.TrustedProxies, ErrorWriter: writeError,
		ListenerName: fault.ListenerOrchestrator,
		QuietRoutes:  slices.Concat(probes, apiRoutes), UntracedRoutes: probes,
	})
	if err != nil {
		return nil, err
	}
	engine.HandleMethodNotAllowed = false
	// Room ids are compared in the form in which they are sent.
	engine.UseEscapedPath, engine.UnescapePathValues = true, false
	engine.Use(o.limitAnswer, requireID)
	if len(o.CORSOrigins) > 0 {
		engine.Use(crossOrigin(o.CORSOrigins))
	}
	s.mountProbes(engine)
	if !o.NoAPI {
		s.mountAPI(engine)
	}
	s.handler = engine
	return s, nil
}

func (o RESTOptions) withDefaults() RESTOptions {
	if o.CheckHere == nil {
		o.CheckHere = func(string) error { return nil }
	}
	if o.CommandTimeout == 0 {
		o.CommandTimeout = 10 * time.Second
	}
	if o.ReadTimeout == 0 {
		o.ReadTimeout = 900 * time.Millisecond
	}
	if o.Stopping == nil {
		o.Stopping = context.Background()
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o
}

// Routes returns all mounted routes.
func (s *REST) Routes() gin.RoutesInfo { return s.handler.Routes() }

// ServeHTTP implements http.Handler.
func (s *REST) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

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
	key, here := rest.RequireKey(s.options.AdminKeys, "", failures), rest.RequireHere(s.options.Region,
		s.options.CheckHere)

	reads := engine.Group("/v1", gate.RefuseWhenFull, key, here, gate.Enter, rest.SetDeadline(s.options.ReadTimeout))
	mountGet(reads, "/stats", rest.Handle(http.StatusOK, s.showStats))
	mountGet(reads, "/instances", rest.Handle(http.StatusOK, s.listInstances))
	mountGet(reads, "/instances/:id", rest.Handle(http.StatusOK, s.showInstance))
	mountGet(reads, "/instances/:id/rooms", rest.Handle(http.StatusOK, s.listRoomsOfInstance))
	mountGet(reads, "/rooms", rest.Handle(http.StatusOK, s.listRooms))
	mountGet(reads, "/rooms/:id", rest.Handle(http.StatusOK, s.showRoom))

	// Behind the key, because the line names the caller; before the region, because a refusal is an outcome as well.
	changes := engine.Group("/v1", gate.RefuseWhenFull, key, s.auditChange, here)
	bodies := rest.NewBodies(maxBodies, bodyTimeout)
	// The body is read before the call counts as one under way: a slow sender holds a place among bodies, not among
	// calls.
	changes.POST("/rooms", bodies.Read, gate.Enter, rest.Handle(http.StatusCreated, s.createRoom))
	changes.DELETE("/rooms/:id", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.destroyRoom))
	changes.POST("/instances/:id/drain", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.drainInstance))
	changes.POST("/instances/:id/undrain", rest.DropBody, gate.Enter, rest.Handle(http.StatusOK, s.undrainInstance))

	query := ""
	if s.options.QueryKey {
		query = "key"
	}
	// Without the gate: streams last, and have a limit of their own.
	mountGet(engine.Group("/v1", rest.RequireKey(s.options.AdminKeys, query, failures), here), "/events",
		s.streamEvents)
}

// requireID answers paths such as /v1/instances//rooms, which gin matches to a route, as unknown routes.
func requireID(c *gin.Context) {
	if id, ok := c.Params.Get("id"); ok && id == "" {
		rest.Fail(c, errNotFound)
	}
}

// mountGet mounts a route that answers GET and HEAD.
func mountGet(r gin.IRouter, path string, handler gin.HandlerFunc) {
	r.Match([]string{http.MethodGet, http.MethodHead}, path, handler)
}

// limitAnswer limits the time in which a caller must read the answer. It replaces the deadline of the connection's
// previous request.
func (o RESTOptions) limitAnswer(c *gin.Context) {
	// an error means that the connection has no deadlines, in tests
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(o.CommandTimeout + answerTime))
}
