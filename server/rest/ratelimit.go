package rest

import (
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
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

// limiterKeys is how many keys a [Limiter] remembers, about 16 MiB of them. The key that has been silent longest is
// forgotten first and begins with its whole burst again, so that somebody with more addresses than this can only undo
// limits, never refuse others.
const limiterKeys = 1 << 16

// Limiter holds a [Rate] for each key, in bounded memory. Limits are per replica. A nil Limiter allows everything. Safe
// for concurrent use.
type Limiter struct {
	rate Rate
	keys *lru.Cache[string, *rate.Limiter]
}

// NewLimiter makes a Limiter, nil if r sets no limit.
func NewLimiter(r Rate) *Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	r.Burst = max(1, r.Burst)
	keys, _ := lru.New[string, *rate.Limiter](limiterKeys) // fails for a size below 1
	return &Limiter{r, keys}
}

// Take uses up one request of the key. It returns 0 when that is allowed, else how long to wait; refusals are free.
func (l *Limiter) Take(key string) time.Duration {
	if l == nil {
		return 0
	}
	now := time.Now()
	taken := l.of(key).ReserveN(now, 1)
	wait := taken.DelayFrom(now)
	if wait > 0 {
		taken.CancelAt(now)
	}
	return wait
}

func (l *Limiter) of(key string) *rate.Limiter {
	if known, ok := l.keys.Get(key); ok {
		return known
	}
	fresh := rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
	if known, ok, _ := l.keys.PeekOrAdd(key, fresh); ok {
		return known
	}
	return fresh
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
