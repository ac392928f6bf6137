package rest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/gin-gonic/gin"
)

// InFlight lets n requests at a time through; further ones get 503 at once, because a queue here would only hide from
// callers that they should go elsewhere. All routes behind the same handler share the n; health and JWKS belong
// elsewhere. 0 sets no limit.
func InFlight(n int) gin.HandlerFunc {
	if n <= 0 {
		return func(*gin.Context) {}
	}
	var busy atomic.Int64
	full := unavailable("This replica is busy.")
	return func(c *gin.Context) {
		if busy.Add(1) > int64(n) {
			busy.Add(-1) // At once: answers to the refused take no places.
			Fail(c, &full)
			return
		}
		defer busy.Add(-1)
		c.Next()
	}
}

// Deadline ends the context of a request after d, which answers 503 unless the handler answered before. 0 sets none.
func Deadline(d time.Duration) gin.HandlerFunc {
	if d <= 0 {
		return func(*gin.Context) {}
	}
	return func(c *gin.Context) {
		ctx, cancel := context.WithTimeout(c.Request.Context(), d)
		defer cancel()
		c.Request = c.Request.WithContext(ctx)
		c.Next()
	}
}
