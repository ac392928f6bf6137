package rest

import (
	"context"

	"github.com/gin-gonic/gin"
)

// NoteRefusals is a middleware that calls noted with the problem of a request that was answered with an error, after
// the answer was written. The context outlives that of the request.
func NoteRefusals(noted func(ctx context.Context, p Problem)) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Next()
		if s := scopeOf(c); s.problemCode != "" && s.cause != nil {
			noted(context.WithoutCancel(c.Request.Context()), ProblemOf(s.cause))
		}
	}
}
