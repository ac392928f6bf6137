package rest

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"
)

// SetDeadline ends the context of a request after d. A handler that returns its context's error answers 503. 0 sets no
// deadline.
func SetDeadline(d time.Duration) gin.HandlerFunc {
	if d <= 0 {
		return func(*gin.Context) {}
	}
	return func(c *gin.Context) {
		request := c.Request
		ctx, cancel := context.WithTimeout(request.Context(), d)
		defer func() {
			cancel()
			// With a context that has ended, a panic would be answered as if the caller had disconnected.
			c.Request = request
		}()
		c.Request = request.WithContext(ctx)
		c.Next()
	}
}
