package rest

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// Gate lets so many requests at a time through; further ones get 503 at once, because a queue here would only hide from
// callers that they should go elsewhere. [Gate.Enter] stands before the handlers that share it, behind [Bodies]: a place is
// for a call that can be decided, and is kept until its handler returns. Since reading a
// request costs something, [Gate.RefuseWhenFull] stands before the rest, and [Gate.Guard] before the whole engine, where a
// refusal costs next to nothing. The zero value and nil set no limit. It is safe for concurrent use.
type Gate struct {
	limit   int64
	busy    atomic.Int64
	metrics *Metrics
	log     *slog.Logger

	refused, told atomic.Int64 // since it was last logged, and when that was, in Unix nanoseconds
}

// NewGate makes a gate for limit requests at a time; 0 sets no limit. Early refusals are counted in metrics as those of
// route "refused", and logged together, once a second at most; either may be nil.
func NewGate(limit int, metrics *Metrics, log *slog.Logger) *Gate {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &Gate{limit: int64(limit), metrics: metrics, log: log}
}

// Enter is the middleware that takes a place and gives it back.
func (g *Gate) Enter(c *gin.Context) {
	if g == nil || g.limit <= 0 {
		return
	}
	if g.busy.Add(1) > g.limit {
		g.busy.Add(-1) // At once: answers to the refused take no places.
		Fail(c, &busy)
		return
	}
	defer g.busy.Add(-1)
	c.Next()
}

// RefuseWhenFull is the middleware that refuses requests while no place is free. It takes no place.
func (g *Gate) RefuseWhenFull(c *gin.Context) {
	if g.full() {
		Fail(c, &busy)
	}
}

// full tells whether no place is free.
func (g *Gate) full() bool { return g != nil && g.limit > 0 && g.busy.Load() >= g.limit }

// Guard refuses requests of which guarded is true while no place is free, before next sees them. It takes no place, so
// next has to [Gate.Enter]. Requests of browser pages go to next in any case, which knows what they may read.
func (g *Gate) Guard(next http.Handler, guarded func(*http.Request) bool) http.Handler {
	if g == nil || g.limit <= 0 {
		return next
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !g.full() || r.Header.Get("Origin") != "" || !guarded(r) {
			next.ServeHTTP(w, r)
			return
		}
		g.refuse(w, r)
	})
}

var (
	busy = unavailable("This replica is busy.")
	// What is told of it stands before and after the request's id.
	busyBefore, busyAfter = func() (before, after []byte) {
		p := busy
		p.Type, p.RequestID = typePrefix+p.Code, "-id-"
		body, _ := json.Marshal(p) // strings and ints always encode
		before, after, _ = bytes.Cut(body, []byte(p.RequestID))
		return before, append(after, '\n')
	}()
	busyRetry = []string{retrySeconds(0)}
)

func (g *Gate) refuse(w http.ResponseWriter, r *http.Request) {
	id := requestIDOf(r)
	header := w.Header()
	header["Content-Type"], header["Cache-Control"], header["Retry-After"] = typeProblem, noStore, busyRetry
	header[headerRequestID] = []string{id}
	w.WriteHeader(busy.Status)
	_, _ = w.Write(slices.Concat(busyBefore, []byte(id), busyAfter)) //nolint:gosec // JSON, and an ID holds nothing that ends a string
	g.count(r)
}

func (g *Gate) count(r *http.Request) {
	if g.metrics != nil {
		g.metrics.requests.WithLabelValues(refused, methodLabel(r.Method), g.metrics.status(busy.Status)).Inc()
	}
	g.refused.Add(1)
	now, last := time.Now().UnixNano(), g.told.Load()
	if now-last >= int64(time.Second) && g.told.CompareAndSwap(last, now) {
		g.log.Warn("more calls than are let in at a time: refused with 503", slog.Int64("calls", g.refused.Swap(0)), slog.Int64("limit", g.limit))
	}
}
