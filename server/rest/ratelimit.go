package rest

import (
	"hash/maphash"
	"net/netip"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// Rate is how much one key may do: PerSecond on average, Burst at once. The zero value sets no limit.
type Rate struct {
	PerSecond float64
	Burst     int // at least 1 counts
}

// The limits of an installation that sets none: far more than players do, far less than a guesser needs.
var (
	DefaultCallerRate  = Rate{PerSecond: 20, Burst: 60}
	DefaultFailureRate = Rate{PerSecond: 5, Burst: 50}
)

// slots is how many keys a row of a Limiter tells apart: two rows of 64 Ki slots are 1 MiB.
const slots = 1 << 16

// Limiter holds a [Rate] for any number of keys in constant memory. A key has a slot in each of two rows, found by a
// seeded hash that nobody outside can foresee, and is refused only when both are used up: two keys rarely share both.
// Calls racing for the last place may both get it, one in each row.
// Each slot is the time at which it will be unused again (the generic cell rate algorithm). Limits are per replica. A nil
// Limiter allows everything. It may be used from many goroutines.
type Limiter struct {
	interval int64 // nanoseconds that one request uses up
	spare    int64 // nanoseconds a slot may be ahead of now
	start    time.Time
	seed     maphash.Seed
	rows     [2][slots]atomic.Int64 // nanoseconds since start
}

// NewLimiter makes a Limiter, nil if r sets no limit.
func NewLimiter(r Rate) *Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	interval := int64(max(1, float64(time.Second)/r.PerSecond))
	return &Limiter{
		interval: interval,
		spare:    interval * int64(max(1, r.Burst)-1),
		start:    time.Now(),
		seed:     maphash.MakeSeed(),
	}
}

// Take uses up one request of the key. It returns 0 when that is allowed, else how long to wait; refusals are free.
func (l *Limiter) Take(key string) time.Duration {
	if l == nil {
		return 0
	}
	now := int64(time.Since(l.start))
	hash := maphash.String(l.seed, key)
	first := l.take(&l.rows[0][hash%slots], now)
	second := l.take(&l.rows[1][(hash>>32)%slots], now)
	return time.Duration(min(first, second))
}

func (l *Limiter) take(slot *atomic.Int64, now int64) (wait int64) {
	for {
		old := slot.Load()
		free := max(old, now)
		if wait := free - now - l.spare; wait > 0 {
			return wait
		}
		if slot.CompareAndSwap(old, free+l.interval) {
			return 0
		}
	}
}

// LimitCaller holds the limiter's rate for each [Caller]. It belongs behind [Bearer].
func LimitCaller(l *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if wait := l.Take(Caller(c.Request.Context())); wait > 0 {
			Fail(c, rateLimited(wait))
		}
	}
}

// address is whom failures are charged to: an IPv4 address or an IPv6 /64, since whoever has one address of a /64
// usually has them all. X-Forwarded-For counts only behind trusted proxies.
func address(c *gin.Context) string {
	ip, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return ""
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil {
		return ""
	}
	return network.String()
}
