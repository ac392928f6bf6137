// Package openmatch is the face that Open Match's clients call: its frontend, backend and query services, over gRPC on
// listeners of its own and over REST in the replica's HTTP server. Programs written for Open Match v1 run against it with
// nothing changed but the address; what they may rely on, to the texts of errors, is the Open Match v1 API.
//
// It translates protobuf into calls of the store and decides nothing about tickets itself: frontend.go, backfill.go,
// backend.go and query.go are the calls, convert.go the values, status.go the errors. fetch.go hands FetchMatches to
// internal/cycle, and what users run (match functions, evaluators) is called from mmf*.go and evaluator*.go. listen.go,
// calls.go and auth.go stand before all calls, gateway.go is REST. Protobuf stays in here.
package openmatch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/lattice-director/director/api/openmatch/pb"
	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/cycle"
	"github.com/lattice-director/director/internal/panics"
	"github.com/lattice-director/director/internal/watch"
	"github.com/lattice-director/director/server/rest"
)

// Options say what is served, to whom, and where. Store is required, and one of Tokens, ClientCA and Open unless every
// address is on loopback; every other zero value is usable.
type Options struct {
	Store *db.Store // stays the caller's to close

	// Region holds the tickets of this universe; "" means global. Replicas of one region are one Open Match.
	Region string
	// Registration is for how long calls of FetchMatches join the cycle that the first of them opened; 0 means that each
	// cycle is closed to others at once.
	Registration time.Duration
	// Collection is for how long match functions may propose after that; 0 means 20 s.
	Collection time.Duration
	// Evaluator is whom proposals are shown to: "grpc://host:port" or "http://host:port", or the same with grpcs or https; "" means the default evaluator.
	Evaluator string
	// Functions are the hosts ("mmf.example", "*.mmf.svc.cluster.local") and networks (CIDRs) that match functions may be
	// on. Loopback need not be among them where Addrs, Listeners and HTTPAddr are all on loopback; else "localhost" or a network
	// within loopback has to be.
	Functions []string
	// FunctionCA is a PEM file of who signs the certificates of match functions, which are called with TLS then, and that of
	// the evaluator. "" means that match functions are called in plain text, and an evaluator is believed if the system does.
	FunctionCA string
	// PlayerArg is the string_arg that names the player, of whom there is one live ticket then; "" means no limit.
	PlayerArg string

	// Addrs are where gRPC listens; Listeners that are given are used besides. Each serves all services.
	Addrs     []string
	Listeners []net.Listener
	// HTTPAddr is where the REST mapping is mounted, which counts as an address that callers reach.
	HTTPAddr string
	TLS      *tls.Config // nil: plain text

	// Tokens open services to callers that send one as "authorization: Bearer <token>": "secret" opens all of them,
	// "frontend=secret" that one, of frontend, backend and query. 16 bytes each at least.
	Tokens []string
	// ClientCA is a PEM file of who signs callers' certificates, where TLS is on: those are let in without a token.
	ClientCA string
	// Clients are the names (DNS, URI or common) that a certificate must have to open services, in the form of Tokens;
	// none means that any certificate of ClientCA opens all.
	Clients []string
	// Open lets everybody in where there are no Tokens and no ClientCA.
	Open bool
	// FailureRate is of failed authentications from one address; zero means rest.DefaultFailureRate, below zero none.
	FailureRate rest.Rate

	MaxTicket   int // bytes of a ticket, backfill or assignment, without its id and time; 0 means 64 KiB
	MaxWatchers int // calls of WatchAssignments at a time; 0 means 32,768
	PageSize    int // tickets in a message of a query; 0 means 10,000
	QueryMemory int // bytes of all queries' answers that are read and not yet taken, 16 MiB at least; 0 means 128 MiB
	// QueueMemory bounds, in bytes, other answers that clients have not taken, 8 MiB at least; 0 means 64 MiB.
	QueueMemory int
	// ProposalMemory bounds, in bytes, what match functions propose and have not been told of; 0 means 512 MiB.
	ProposalMemory int
	CallTimeout    time.Duration // of a call that neither watches nor fetches; 0 means 15 s

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
	Tracer  trace.TracerProvider  // nil: no traces

	pings  time.Duration // clients may ping so often; 0 means each 5 s
	taking time.Duration // for which a caller may leave what a lasting call sends; 0 means 30 s
	guard  *panics.Guard // of goroutines that are no call's
}

func (o Options) withDefaults() Options {
	o.Region = cmp.Or(o.Region, "global")
	o.Collection = cmp.Or(o.Collection, 20*time.Second)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.MaxTicket = cmp.Or(o.MaxTicket, 64<<10)
	o.MaxWatchers = cmp.Or(o.MaxWatchers, 32_768)
	o.PageSize = cmp.Or(o.PageSize, 10_000)
	o.QueryMemory = max(cmp.Or(o.QueryMemory, 128<<20), readingBytes)
	o.QueueMemory = cmp.Or(o.QueueMemory, 64<<20)
	o.CallTimeout = cmp.Or(o.CallTimeout, 15*time.Second)
	o.pings = cmp.Or(o.pings, 5*time.Second)
	o.taking = cmp.Or(o.taking, taking)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

func (o Options) check() error {
	if o.Store == nil {
		return errors.New("openmatch: a store is required")
	}
	if o.ClientCA != "" && o.TLS == nil {
		return errors.New("openmatch: certificates of callers are judged with TLS only: give the server a certificate, too")
	}
	return nil
}

// Server answers the three services for one region. Make it with [New]; then [Server.Mount] its REST mapping,
// [Server.Listen], [Server.Run], once, and [Server.Stop] it.
type Server struct {
	options   Options
	access    *access
	functions *functions
	hub       *watch.Hub
	cycle     *cycle.Engine
	calls     *calls
	methods   map[string]grpc.MethodInfo // by full name
	probes    atomic.Int64               // that watch the health
	queues    *sendQueues
	answers   *semaphore.Weighted // bytes of queries' answers

	health    *health.Server
	grpc      *grpc.Server
	gateway   *gateway
	listeners []net.Listener // after Listen

	stopping context.Context // ends when streams that would never end by themselves have to
	stop     context.CancelFunc
}

// New makes a Server that does nothing yet. It needs no database. Errors: an option that is missing or wrong; everybody
// would be let in and nobody said so; metrics that are registered already.
func New(options Options) (*Server, error) {
	o := options.withDefaults()
	if err := o.check(); err != nil {
		return nil, err
	}
	s := &Server{
		options: o, health: health.NewServer(), queues: newSendQueues(2*o.taking, o.QueueMemory), answers: semaphore.NewWeighted(int64(o.QueryMemory)),
	}
	s.stopping, s.stop = context.WithCancel(context.Background())
	for _, part := range []func() error{s.makeGuard, s.makeAccess, s.makeCycle, s.makeCalls, s.makeGRPC, s.makeGateway} {
		if err := part(); err != nil {
			return nil, fmt.Errorf("openmatch: %w", err)
		}
	}
	return s, nil
}

// makeGuard makes what recovers panics of goroutines that run behind the calls; those of calls are recovered by observe.
func (s *Server) makeGuard() error {
	recovered := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "director_openmatch_panics_total",
		Help: "Panics of goroutines that run behind Open Match's calls, by goroutine. Each is a defect: its stack is in the log.",
	}, []string{"goroutine"})
	s.options.guard = panics.New(s.options.Log, recovered)
	if s.options.Metrics == nil {
		return nil
	}
	return s.options.Metrics.Register(recovered)
}

// makeCycle makes what runs behind the calls.
func (s *Server) makeCycle() (err error) {
	o := s.options
	if s.functions, err = newFunctions(o); err != nil {
		return err
	}
	evaluator, err := s.functions.evaluator(o.Evaluator) // nil for the default one
	if err != nil {
		return err
	}
	s.hub = watch.New(o.Store, o.Region, o.MaxWatchers, o.Log, o.guard)
	s.cycle, err = cycle.New(cycle.Options{
		Store: o.Store, Region: o.Region, Replica: uuid.New(), Registration: o.Registration, Collection: o.Collection,
		Evaluator: evaluator, Backfill: matchedBackfill, Log: o.Log, Metrics: o.Metrics,
		Guard: o.guard, Memory: int64(o.ProposalMemory),
	})
	if err == nil {
		s.functions.count(s.cycle)
	}
	return err
}

// Register adds the services to a gRPC server, without what stands before them: access, deadlines, counting.
func (s *Server) Register(r grpc.ServiceRegistrar) {
	pb.RegisterFrontendServiceServer(r, frontend{Server: s})
	pb.RegisterBackendServiceServer(r, backend{Server: s})
	pb.RegisterQueryServiceServer(r, query{Server: s})
	pb.RegisterTicketsServer(r, tickets{Server: s})
}
