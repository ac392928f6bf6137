package rest

import (
	"context"
	"time"

	"github.com/gin-gonic/gin"
)

// Deadline ends the context of a request after d. A handler that returns its context's error answers 503. 0 sets no deadline.
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
