package orchestrator

import (
	"fmt"
	"net/http"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// auditChange logs each request that changes the fleet. The message has upstream's format, because operators search
// their logs for it. The path is escaped, so a caller cannot insert a line break.
func (s *REST) auditChange(c *gin.Context) {
	defer s.logChange(c) // also after a panic
	c.Next()
}

func (s *REST) logChange(c *gin.Context) {
	ctx, outcome := c.Request.Context(), http.StatusInternalServerError
	if c.Writer.Written() {
		outcome = c.Writer.Status()
	}
	//nolint:sloglint // operators search for this line
	s.options.Log.InfoContext(ctx, fmt.Sprintf("audit route=%s %s key=%s ip=%s outcome=%d",
		c.Request.Method, c.Request.URL.EscapedPath(), rest.Caller(ctx), c.ClientIP(), outcome))
}
