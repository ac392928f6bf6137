package rest

import (
	"context"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
)

// reportRefusals calls refused for each request of a player that was answered with an error. Requests of others, and
// requests without a valid token, have no player. A request whose caller has disconnected, or whose region another cell
// serves, was not refused.
func reportRefusals(refused func(fault.Refusal)) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Next()
		s := scopeOf(c)
		if s.problemCode == "" || s.caller == "" || s.role != "" || fault.CellOf(s.cause) != nil {
			return
		}
		refused(fault.Refusal{
			Player: s.caller, Call: methodLabel(c.Request.Method) + " " + routePattern(c), Code: s.problemCode,
			Region: s.region, Mode: s.mode, Detail: ProblemOf(s.cause).Detail, RequestID: s.requestID,
		})
	}
}

// NoteRefusals is a middleware that calls noted with the problem of a request that is answered with an error. The answer
// is sent once noted returns, since net/http sends a short answer after all handlers. The context outlives that of the
// request.
func NoteRefusals(noted func(ctx context.Context, p Problem)) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Next()
		if s := scopeOf(c); s.problemCode != "" && s.cause != nil {
			noted(context.WithoutCancel(c.Request.Context()), ProblemOf(s.cause))
		}
	}
}
