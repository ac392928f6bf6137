package bevygap

import (
	"context"
	"net/http"
	"sync"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/base/panics"
	"github.com/lattice-director/director/internal/matching/waitingroom"
	"github.com/lattice-director/director/server/rest"
)

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
	openRequests sync.WaitGroup
}

// New makes a face. It makes no database call. Errors: an option is missing; the metrics are already registered.
func New(options Options) (*Face, error) {
	o, err := options.withDefaults()
	if err != nil {
		return nil, err
	}
	perAddress := float64(o.PerAddress)
	f := &Face{ // guests of an address may begin as many requests in 30 seconds as may be open at a time
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

// takeSlot takes a slot for a request, or answers that there is none. leave must be called if ok. crowded is the failure
// with which the request has to end, because too many are open from its address; nil: there are not.
func (f *Face) takeSlot(c *gin.Context) (who caller, crowded *failure, leave func(), ok bool) {
	// Stop sets isStopped under the same lock: no request is counted after Stop has begun to wait.
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.isStopped {
		rest.Fail(c, busyProblem(http.StatusServiceUnavailable, "draining", "This replica is shutting down."))
		return caller{}, nil, nil, false
	}
	who = callerOf(c.Request, rest.FailureKey(c))
	isCrowded, ok := f.requestSlots.takeSlot(who.addressKey)
	if !ok {
		f.metrics.requests.WithLabelValues("refused").Inc()
		rest.Fail(c, busyProblem(http.StatusTooManyRequests, "waiting_full", "Too many requests wait in this replica."))
		return caller{}, nil, nil, false
	}
	if isCrowded {
		// The request is not refused here: the client understands only an error frame, which needs an open request.
		crowded = newFailure(http.StatusTooManyRequests, "too many requests wait from this address")
	}
	f.openRequests.Add(1)
	return who, crowded, func() { f.requestSlots.releaseSlot(who.addressKey); f.openRequests.Done() }, true
}

func busyProblem(status int, code, detail string) *rest.Problem {
	return &rest.Problem{Status: status, Code: code, Title: http.StatusText(status), Detail: detail,
		RetryAfter: time.Second}
}
