package bevygap

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Serves reports whether a path belongs to this face.
func Serves(path string) bool {
	return path == "/matchmaker" || strings.HasPrefix(path, "/matchmaker/")
}

// refuseOrigin refuses pages that are not listed. Browsers let every page open a WebSocket or send a POST without a
// body, and requests of guests start servers. Native clients send no Origin.
func (f *Face) refuseOrigin(c *gin.Context) {
	if origin := c.GetHeader("Origin"); origin != "" && !f.options.AllowsOrigin(origin) {
		rest.Fail(c, &rest.Problem{
			Status: http.StatusForbidden, Code: "origin_not_allowed", Title: "Origin not allowed",
			Detail: "Pages of this origin may not ask for a server.",
		})
	}
}
