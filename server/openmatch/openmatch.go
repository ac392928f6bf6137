// Package openmatch serves the frontend, backend and query services of Open Match v1, over gRPC on listeners of its own
// and over REST in the replica's HTTP server. Programs written for Open Match v1 need nothing but the new address:
// requests, answers and the texts of errors are the same.
//
// Where is a ticket matched? Not here: this package translates protobuf into calls of the store and of two engines. A
// ticket is created in frontend.go; fetch.go passes FetchMatches to internal/openmatch/cycle, which matches tickets
// (its commit.go and db.Store.AcceptMatches); backend.go assigns the matched tickets; internal/matching/watch pushes
// the assignments.
//
// frontend.go, several.go, backfill.go, backend.go, query.go and extras.go are the calls, convert.go converts values
// and status.go errors. internal/openmatch/functions calls match functions and the evaluator. setup.go makes a server
// of its parts, listen.go is the gRPC server, calls.go its interceptors. access.go says which credentials open which
// service, and auth.go reads them from calls and connections. sendqueue.go and codec.go bound the memory of unread
// answers, gateway.go is REST.
package openmatch

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/trace"
	"golang.org/x/sync/semaphore"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health"

	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/watch"
	"github.com/lattice-director/director/internal/openmatch/functions"
	"github.com/lattice-director/director/server/rest"
)

// Options configure a [Server]. Store is required, and one of Tokens, ClientCA and OpenToAll unless every address is on
// loopback; every other zero value is usable.
type Options struct {
	Store Store // the caller closes it

	// Hub wakes the calls of WatchAssignments; it is of the same region, and the caller runs it. Nil: the server has
	// one of its own.
	Hub *watch.Hub
	// Matchmaker runs the cycles of FetchMatches with the same settings; the caller runs and closes it. Nil: the server
	// makes one.
	Matchmaker *functions.Matchmaker
	// Universe has the tickets; "" means global. Replicas of one universe are one Open Match.
	Universe string
	// CheckHere refuses a Universe that another cell serves; nil: none is.
	CheckHere func(region string) error
	// Registration is how long calls of FetchMatches may join the cycle that the first of them opened; 0: only the
	// calls that open a cycle are in it.
	Registration time.Duration
	// Collection is how long match functions may run after Registration; 0 means 20 s.
	Collection time.Duration
	// EvaluatorURL is the evaluator's URL: "grpc://host:port" or "http://host:port", or the same with grpcs or https;
	// "" means the default evaluator.
	EvaluatorURL string
	// FunctionHosts are the hosts ("mmf.example", "*.mmf.svc.cluster.local") and networks (CIDRs) that match functions
	// may be on. Loopback need not be among them where Addrs, Listeners and HTTPAddr are all on loopback; else
	// "localhost" or a network within loopback has to be.
	FunctionHosts []string
	// FunctionCA is a PEM file with the authority of the certificates of match functions, which are then called with
	// TLS, and of the evaluator. "" means that match functions are called in plain text, and that the system's
	// authorities verify an evaluator.
	FunctionCA string
	// PlayerArg is the string_arg that names a ticket's player. A player may then have one live ticket only; "" means
	// no limit.
	PlayerArg string

	// Addrs are where gRPC listens, and Listeners further open listeners. Each serves all services.
	Addrs     []string
	Listeners []net.Listener
	// HTTPAddr is the address of the HTTP server that the REST mapping is mounted in; "" where callers cannot reach it.
	HTTPAddr string
	TLS      *tls.Config // nil: plain text

	// Tokens open services to callers that send one as "authorization: Bearer <token>": "secret" opens all of them,
	// "frontend=secret" that one, of frontend, backend and query. 16 bytes each at least.
	Tokens []string
	// ClientCA is a PEM file with the authority of callers' certificates; it requires TLS. A caller with a certificate
	// needs no token.
	ClientCA string
	// ClientNames are the names (DNS, URI or common) that a certificate must have to open services, in the form of
	// Tokens; none means that any certificate of ClientCA opens all.
	ClientNames []string
	// OpenToAll lets callers in without credentials where there are no Tokens and no ClientCA.
	OpenToAll bool
	// FailureRate limits failed authentications from one address; zero means rest.DefaultFailureRate, below zero no
	// limit.
	FailureRate rest.Rate

	MaxTicket   int // bytes of a ticket, backfill or assignment, without its id and time; 0 means 64 KiB
	MaxWatchers int // calls of WatchAssignments at a time; 0 means 32,768
	PageSize    int // tickets in a message of a query; 0 means 10,000
	QueryMemory int // bytes of all queries' answers that clients have not read, 16 MiB at least; 0 means 128 MiB
	// QueueMemory bounds, in bytes, other answers that clients have not read, 8 MiB at least; 0 means 64 MiB.
	QueueMemory int
	// ProposalMemory bounds, in bytes, the proposals of running FetchMatches calls; 0 means 512 MiB.
	ProposalMemory int
	CallTimeout    time.Duration // of a call that neither watches nor fetches; 0 means 15 s

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none
	Tracer  trace.TracerProvider  // nil: no traces

	minPing     time.Duration // between two pings of a client; 0 means 5 s
	sendTimeout time.Duration // of streams; 0 means 30 s
	guard       *panics.Guard // of goroutines that belong to no call
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero, except
// Registration.
func Defaults() Options {
	return Options{Universe: "global", Registration: 250 * time.Millisecond, Collection: 20 * time.Second,
		MaxWatchers: 32_768}
}

func (o Options) withDefaults() Options {
	d := Defaults()
	o.Universe = cmp.Or(o.Universe, d.Universe)
	o.Collection = cmp.Or(o.Collection, d.Collection)
	o.FailureRate = cmp.Or(o.FailureRate, rest.DefaultFailureRate)
	o.MaxTicket = cmp.Or(o.MaxTicket, 64<<10)
	o.MaxWatchers = cmp.Or(o.MaxWatchers, d.MaxWatchers)
	o.PageSize = cmp.Or(o.PageSize, 10_000)
	// With less than one share, no query would ever get one.
	o.QueryMemory = max(cmp.Or(o.QueryMemory, 128<<20), readingBytes)
	o.QueueMemory = cmp.Or(o.QueueMemory, 64<<20)
	o.CallTimeout = cmp.Or(o.CallTimeout, 15*time.Second)
	o.minPing = cmp.Or(o.minPing, 5*time.Second)
	o.sendTimeout = cmp.Or(o.sendTimeout, sendTimeout)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	return o
}

func (o Options) checkRequired() error {
	if o.Store == nil {
		return errors.New("openmatch: a store is required")
	}
	if o.ClientCA != "" && o.TLS == nil {
		return errors.New("openmatch: ClientCA requires TLS: give the server a certificate, too")
	}
	return nil
}

// Server answers the three services for one region. Make it with [New]; then [Server.Mount] its REST mapping,
// [Server.Listen], [Server.Run], once, and [Server.Stop] it.
type Server struct {
	options       Options
	access        *access
	watchHub      *watch.Hub
	matchmaker    *functions.Matchmaker
	callMetrics   *callMetrics
	methodsByName map[string]grpc.MethodInfo // by full name
	healthStreams atomic.Int64               // streams that watch the health
	sendQueues    *sendQueues
	queryMemory   *semaphore.Weighted // bytes of queries' answers

	health        *health.Server
	grpc          *grpc.Server
	gateway       *gateway
	grpcListeners []net.Listener // after Listen

	streamsContext context.Context // ends lasting streams
	endStreams     context.CancelFunc
}
