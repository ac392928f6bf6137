package orchestrator

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"

	"github.com/lattice-director/director/db"
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

// Follower is one reader of the fleet's events. [roster.Stream] implements it.
type Follower interface {
	// Next waits for events. Errors: ctx's, after which the follower can be used again; any other error ends the
	// follower.
	Next(ctx context.Context) ([]roster.Event, error)
	Close()
}

// RESTOptions configure REST and SSE. Region, AdminKeys, Roster, Lookup, Commander, FollowEvents and CheckReady are
// required.
type RESTOptions struct {
	Region    string
	CheckHere func(region string) error // refuses a Region that another cell serves
	Roster    Roster
	Lookup    Lookup
	Commander Commander
	// FollowEvents is [roster.Events.OpenStream], which limits the number of streams.
	FollowEvents func(ctx context.Context, lastEventID string) (Follower, error)
	// CheckReady returns why this replica is not ready for traffic.
	CheckReady func(ctx context.Context) error

	AdminKeys   []string
	QueryKey    bool     // accept the key as ?key= for SSE, because a browser's EventSource cannot send headers
	CORSOrigins []string // origins whose pages may call the API; "*" means all; empty: CORS is off

	TrustedProxies []string        // proxies whose X-Forwarded-For is trusted; see rest.Options
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
	streamTimeout time.Duration // the constant, but for tests
}

// CommandTimeout is the time in which an agent must acknowledge a command.
const CommandTimeout = 10 * time.Second

const (
	maxCalls  = 4096 // at a time, including commands that wait for an agent
	maxBodies = 1024 // read at a time; together at most 64 MiB

	bodyTimeout = 10 * time.Second // for a body to arrive
	// answerTime is the time in which a caller must read an answer.
	answerTime = time.Minute
	// streamTimeout is the time in which a caller must read one part of a stream.
	streamTimeout = 10 * time.Second
)

// authFailures limits the failures of one address; it is upstream's limit.
var authFailures = rest.Rate{PerSecond: 1.0 / 6, Burst: 10}

func (o RESTOptions) withDefaults() RESTOptions {
	if o.CheckHere == nil {
		o.CheckHere = func(string) error { return nil }
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

// mountGet mounts a route that answers GET and HEAD.
func mountGet(r gin.IRouter, path string, handler gin.HandlerFunc) {
	r.Match([]string{http.MethodGet, http.MethodHead}, path, handler)
}

// limitAnswer limits the time in which a caller must read the answer, which may begin only when an agent has
// acknowledged a command. It replaces the deadline of the connection's previous request.
func limitAnswer(c *gin.Context) {
	// An error means that the connection has no deadlines, in tests.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(CommandTimeout + answerTime))
}
