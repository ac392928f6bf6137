package rest

import (
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// Gate limits how many requests are served at a time. It answers further requests 503 at once: a queue here would only
// delay callers that should try another replica.
//
// [Gate.Enter] takes a slot. It belongs behind [Bodies], so that only calls that can be decided take slots; the slot is
// freed when the handler returns. Authentication and reading a body cost something too, so [Gate.RefuseWhenFull] stands
// before them, and [Gate.Guard] before the whole engine, where a refusal costs least. The zero value and nil set no
// limit. Safe for concurrent use.
type Gate struct {
	maxInFlight int64
	inFlight    atomic.Int64
	metrics     *Metrics
	log         *slog.Logger

	refusedEarly atomic.Int64 // early refusals since the last log line
	loggedAt     atomic.Int64 // time of the last log line, in Unix nanoseconds
}

// NewGate makes a gate for limit requests at a time; 0 sets no limit. [Gate.Guard] counts its refusals in metrics under
// the route "refused" and logs how many there were, at most once a second. Both may be nil.
func NewGate(limit int, metrics *Metrics, log *slog.Logger) *Gate {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Gate{maxInFlight: int64(limit), metrics: metrics, log: log}
}

// Enter is the middleware that takes a slot, and frees it when the handlers behind it have returned.
func (g *Gate) Enter(c *gin.Context) {
	if g == nil || g.maxInFlight <= 0 {
		return
	}
	if g.inFlight.Add(1) > g.maxInFlight {
		g.inFlight.Add(-1) // Before the answer is written: a refused call must not hold a slot.
		Fail(c, &errBusy)
		return
	}
	defer g.inFlight.Add(-1)
	c.Next()
}

// RefuseWhenFull is the middleware that refuses requests while no slot is free. It takes no slot.
func (g *Gate) RefuseWhenFull(c *gin.Context) {
	if g.isFull() {
		Fail(c, &errBusy)
	}
}

// isFull reports whether no slot is free.
func (g *Gate) isFull() bool {
	return g != nil && g.maxInFlight > 0 && g.inFlight.Load() >= g.maxInFlight
}

// Guard refuses requests before next sees them, while no slot is free and guarded reports true. It takes no slot, so
// the routes of next need [Gate.Enter]. Requests with an Origin header always reach next: only its CORS middleware can
// make the answer readable to a browser page.
func (g *Gate) Guard(next http.Handler, guarded func(*http.Request) bool) http.Handler {
	if g == nil || g.maxInFlight <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.isFull() || r.Header.Get("Origin") != "" || !guarded(r) {
			next.ServeHTTP(w, r)
			return
		}
		g.refuseRequest(w, r)
	})
}

var errBusy = unavailableProblem("This replica is busy.")

func (g *Gate) refuseRequest(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Retry-After", retrySeconds(errBusy.RetryAfter))
	writeProblem(w, r, errBusy)
	g.countRefusal(r)
}

// countRefusal counts a refusal. The log gets one line a second at most, since refusals come in thousands.
func (g *Gate) countRefusal(r *http.Request) {
	if g.metrics != nil {
		g.metrics.countRequest(routeRefused, r.Method, errBusy.Status)
	}
	g.refusedEarly.Add(1)
	now, last := time.Now().UnixNano(), g.loggedAt.Load()
	if now-last >= int64(time.Second) && g.loggedAt.CompareAndSwap(last, now) {
		g.log.Warn("refused calls with 503: too many at a time", slog.Int64("calls", g.refusedEarly.Swap(0)),
			slog.Int64("limit", g.maxInFlight))
	}
}
