package projects

import (
	"net/http"
	"slices"

	"github.com/gin-gonic/gin"
)

// crossOrigin allows pages of the listed origins to call the API; "*" allows all. As Nexis it serves other origins too,
// without the headers that let a browser show the answer to the page. The internal token is sent in a header and never
// in a cookie, so a page cannot use that of its visitors.
func crossOrigin(origins []string) gin.HandlerFunc {
	anyOrigin := slices.Contains(origins, "*")
	return func(c *gin.Context) {
		origin, header := c.GetHeader("Origin"), c.Writer.Header()
		// A cache must not give one origin the answer to another.
		header.Add("Vary", "Origin")
		allowed := origin != "" && (anyOrigin || slices.Contains(origins, origin))
		if allowed {
			header.Set("Access-Control-Allow-Origin", origin)
			header.Set("Access-Control-Allow-Credentials", "true")
		}
		// Only a preflight has both headers; any other OPTIONS is routed, and finds no route.
		if c.Request.Method != http.MethodOptions || origin == "" ||
			c.GetHeader("Access-Control-Request-Method") == "" {
			return
		}
		if allowed {
			header.Set("Access-Control-Allow-Methods", "GET, POST, OPTIONS")
			header.Set("Access-Control-Allow-Headers", "Content-Type, Authorization, "+headerToken)
			header.Set("Access-Control-Max-Age", "3600")
		}
		// A preflight of another origin is answered, too: without the headers above, its browser sends no request.
		c.AbortWithStatus(http.StatusNoContent)
	}
}
