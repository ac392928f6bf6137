package rest

import (
	"net/netip"
	"time"

	"github.com/gin-gonic/gin"
	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/time/rate"
)

// Rate limits the requests of one key: PerSecond on average, Burst at once. The zero value sets no limit.
type Rate struct {
	PerSecond float64
	Burst     int // less than 1 counts as 1
}

// The default limits: far above what a player's client sends, and far below what guessing a token takes.
var (
	DefaultCallerRate  = Rate{PerSecond: 20, Burst: 60}
	DefaultFailureRate = Rate{PerSecond: 5, Burst: 50}
)

// limiterKeys is how many keys a [Limiter] remembers; they take about 16 MiB. The least recently used key is evicted
// first and starts again with a full burst. An attacker with more addresses than this can therefore evade the limit,
// but cannot make others exceed it.
const limiterKeys = 1 << 16

// Limiter limits each key to a [Rate], in bounded memory. Limits are per replica. A nil Limiter allows everything. Safe
// for concurrent use.
type Limiter struct {
	rate          Rate
	limitersByKey *lru.Cache[string, *rate.Limiter]
}

// NewLimiter makes a Limiter, nil if r sets no limit.
func NewLimiter(r Rate) *Limiter {
	if r.PerSecond <= 0 {
		return nil
	}
	r.Burst = max(1, r.Burst)
	keys, _ := lru.New[string, *rate.Limiter](limiterKeys) // fails only for a size below 1
	return &Limiter{r, keys}
}

// Take counts one request of the key. It returns 0 when the request is allowed, else how long to wait. Refused requests
// are not counted.
func (l *Limiter) Take(key string) time.Duration {
	if l == nil {
		return 0
	}
	now := time.Now()
	reservation := l.getOrAddLimiter(key).ReserveN(now, 1)
	wait := reservation.DelayFrom(now)
	if wait > 0 {
		reservation.CancelAt(now)
	}
	return wait
}

// getOrAddLimiter returns the limiter of a key, which it makes if there is none.
func (l *Limiter) getOrAddLimiter(key string) *rate.Limiter {
	if known, ok := l.limitersByKey.Get(key); ok {
		return known
	}
	fresh := rate.NewLimiter(rate.Limit(l.rate.PerSecond), l.rate.Burst)
	// Another request of the key may have added a limiter since: both requests must count with the same one.
	if known, ok, _ := l.limitersByKey.PeekOrAdd(key, fresh); ok {
		return known
	}
	return fresh
}

// LimitCaller is the middleware that limits the rate of each [Caller]. It belongs behind [RequireBearer].
func LimitCaller(l *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		if wait := l.Take(Caller(c.Request.Context())); wait > 0 {
			Fail(c, rateLimitedProblem(wait))
		}
	}
}

// FailureKey returns the key under which failed authentications are counted; see [AddressKey]. X-Forwarded-For counts
// only behind trusted proxies.
func FailureKey(c *gin.Context) string {
	ip, err := netip.ParseAddr(c.ClientIP())
	if err != nil {
		return ""
	}
	return AddressKey(ip.Unmap())
}
