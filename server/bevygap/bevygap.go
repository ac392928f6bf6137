package bevygap

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

// Store is the part of db.Store that this face calls.
type Store interface {
	waitingroom.Store
	Offers(ctx context.Context) ([]db.Offer, error)
}

// Connection is what a client needs to connect to its server.
type Connection struct {
	Token      []byte // 2,048 bytes
	ClientID   uint64
	IP         netip.Addr
	Port       uint16
	CertDigest string // SHA-256 of the server's certificate in hex with colons; "" if the server has none
}

// Options configure a [Face]. Store and Connect are required. Without Verify and without Guests nobody can play.
type Options struct {
	Store Store // The caller closes it.
	// ConnectSeat exchanges the handle of a seat for a connection. Errors: NotFound, Gone, Forbidden if the seat is
	// lost; Unavailable.
	ConnectSeat func(ctx context.Context, handle, sub string) (Connection, error)
	// VerifyToken verifies an access token and returns its sub. A *fault.Error means that it could not be verified.
	// nil: every token is refused.
	VerifyToken func(ctx context.Context, raw string) (sub string, err error)
	// AllowsGuests lets clients play without an access token, each as a new player.
	AllowsGuests bool
	// AllowsOrigin reports whether pages of an origin may ask for servers; nil: none may.
	AllowsOrigin func(origin string) bool

	WaitLimit  time.Duration // for a server; 0 means 60 s
	MaxWaiting int           // requests that wait in this replica; 0 means 10,000
	// requests of one IPv4 address or IPv6 /64 at a time, and requests of its guests in 30 s on average; 0 means 8
	PerAddress     int
	TrustClientIP  bool   // the client may say which address its region is chosen by
	DefaultGame    string // which requests ask for that name no game, with DefaultVersion; "": none
	DefaultVersion string

	FailureLimiter *rest.Limiter // of refused access tokens, by address; nil: no limit
	CallerLimiter  *rest.Limiter // of requests, by player; nil: no limit

	// CheckHere refuses a region that another cell serves; nil: none is.
	CheckHere func(region string) error
	// OnRefusal is told of each request that failed, unless a guest made it; it must not wait. nil: nobody is.
	OnRefusal func(fault.Refusal)

	Log     *slog.Logger          // nil: no log
	Metrics prometheus.Registerer // nil: none

	firstWithin, callTimeout, writeTimeout time.Duration
	pingEvery, pongWithin                  time.Duration // of a socket that waits
}

// Defaults returns what operators may change, with its defaults. [New] uses them for fields that are zero.
func Defaults() Options { return Options{WaitLimit: time.Minute, PerAddress: 8} }

func (o Options) withDefaults() (Options, error) {
	if o.Store == nil || o.ConnectSeat == nil {
		return o, errors.New("bevygap: a store and a way to connect are required")
	}
	o.WaitLimit = cmp.Or(o.WaitLimit, Defaults().WaitLimit)
	o.MaxWaiting = cmp.Or(o.MaxWaiting, 10_000)
	o.PerAddress = cmp.Or(o.PerAddress, Defaults().PerAddress)
	o.Log = cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	if o.OnRefusal == nil {
		o.OnRefusal = func(fault.Refusal) {}
	}
	if o.AllowsOrigin == nil {
		o.AllowsOrigin = func(string) bool { return false }
	}
	o.firstWithin = cmp.Or(o.firstWithin, 10*time.Second)
	o.callTimeout = cmp.Or(o.callTimeout, 5*time.Second)
	o.writeTimeout = cmp.Or(o.writeTimeout, 5*time.Second)
	o.pingEvery, o.pongWithin = cmp.Or(o.pingEvery, 5*time.Second), cmp.Or(o.pongWithin, 15*time.Second)
	return o, nil
}

// spareSlots is how many requests more than may wait can be open: those that are being read, refused or closed.
const spareSlots = 256

// Face serves bevygap's clients. Make it with [New], [Face.Mount] it, [Face.Run] it once, and [Face.Stop] it. Safe for
// concurrent use.
type Face struct {
	options      Options
	waitingRoom  *waitingroom.Room
	offers       offers
	requestSlots *slots
	guestLimiter *rest.Limiter
	guard        *panics.Guard
	metrics      *metrics

	faceContext context.Context //nolint:containedctx // ends with Stop
	end         context.CancelFunc

	mu           sync.Mutex
	isStopped    bool
	openRequests sync.WaitGroup // counts the requests
}

// New makes a face. It makes no database call. Errors: an option is missing; the metrics are already registered.
func New(options Options) (*Face, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	perAddress := float64(o.PerAddress)
	f := &Face{
		options: o, offers: offers{store: o.Store}, requestSlots: newSlots(o.MaxWaiting+spareSlots, o.PerAddress),
		guestLimiter: rest.NewLimiter(rest.Rate{PerSecond: perAddress / 30, Burst: 2 * o.PerAddress}),
	}
	f.faceContext, f.end = context.WithCancel(context.Background())
	f.metrics = newMetrics(func() float64 { return float64(f.waitingRoom.Waiting()) })
	f.guard = panics.New(o.Log, f.metrics.panics)
	f.waitingRoom = waitingroom.New(waitingroom.Options{Store: o.Store, Source: db.DemandBevygap, Limit: o.MaxWaiting,
		Log: o.Log, Guard: f.guard})
	if o.Metrics != nil {
		if err := f.metrics.register(o.Metrics); err != nil {
			return nil, err
		}
	}
	return f, nil
}

// Mount adds the routes of this face. The Origin of their requests must be unchanged.
func (f *Face) Mount(r gin.IRouter) {
	r = r.Group("", f.refuseOrigin)
	r.GET("/matchmaker", f.servePage)
	r.GET("/matchmaker/ws", f.serveSocket)
	r.POST("/matchmaker/request/:game/:version", rest.DropBody, f.serveStream)
	r.POST("/matchmaker/wannaplay", rest.DropBody, f.serveWannaplay)
}

// Run seats the players who wait until ctx ends.
func (f *Face) Run(ctx context.Context) { f.waitingRoom.Run(ctx) }

// Stop ends all requests with an error frame and waits until they are closed. Errors: ctx ended before that.
func (f *Face) Stop(ctx context.Context) error {
	f.mu.Lock()
	f.isStopped = true
	f.mu.Unlock()
	f.end()
	closed := make(chan struct{})
	go func() { f.openRequests.Wait(); close(closed) }()
	select {
	case <-closed:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// takeSlot takes a slot for a request, or answers that there is none. leave must be called if ok.
func (f *Face) takeSlot(c *gin.Context) (who caller, crowded *failure, leave func(), ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// Under the lock under which Stop sets it: no request is counted after Stop has begun to wait.
	if f.isStopped {
		rest.Fail(c, busyProblem(http.StatusServiceUnavailable, "draining", "This replica is shutting down."))
		return caller{}, nil, nil, false
	}
	who = callerOf(c.Request, rest.FailureKey(c))
	many, ok := f.requestSlots.takeSlot(who.addressKey)
	if !ok {
		f.metrics.requests.WithLabelValues("refused").Inc()
		rest.Fail(c, busyProblem(http.StatusTooManyRequests, "waiting_full", "Too many requests wait in this replica."))
		return caller{}, nil, nil, false
	}
	if many {
		// Not refused here: the client understands only an error frame, which needs an open request.
		crowded = newFailure(http.StatusTooManyRequests, "too many requests wait from this address")
	}
	f.openRequests.Add(1)
	return who, crowded, func() { f.requestSlots.releaseSlot(who.addressKey); f.openRequests.Done() }, true
}

func busyProblem(status int, code, detail string) *rest.Problem {
	return &rest.Problem{Status: status, Code: code, Title: http.StatusText(status), Detail: detail,
		RetryAfter: time.Second}
}
