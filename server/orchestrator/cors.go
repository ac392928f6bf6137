package orchestrator

import (
	"net/http"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

const corsMethods = "GET, HEAD, POST, DELETE"

// crossOrigin allows pages of the listed origins to call the API; "*" allows all. As upstream, and unlike the
// middleware of package rest, it also serves other origins, without the headers that let a browser show the answer to
// the page, and it allows every header that a page requests. Keys are sent in a header and never in cookies, so a page
// cannot use the keys of its visitors.
func crossOrigin(origins []string) gin.HandlerFunc {
	allowsAny := slices.Contains(origins, "*")
	return func(c *gin.Context) {
		origin := c.GetHeader("Origin")
		isAllowed := origin != "" &&
			slices.ContainsFunc(origins, func(o string) bool { return strings.EqualFold(o, origin) })
		switch {
		case allowsAny:
			c.Header("Access-Control-Allow-Origin", "*")
		case isAllowed:
			c.Header("Access-Control-Allow-Origin", origin)
		}
		if !allowsAny {
			// A cache must not give one origin the answer to another.
			c.Writer.Header().Add("Vary", "Origin")
		}
		if c.Request.Method == http.MethodOptions && origin != "" &&
			c.GetHeader("Access-Control-Request-Method") != "" {
			answerPreflight(c, allowsAny || isAllowed)
		}
	}
}

func answerPreflight(c *gin.Context, isAllowed bool) {
	if isAllowed {
		c.Header("Access-Control-Allow-Methods", corsMethods)
		if asked := c.GetHeader("Access-Control-Request-Headers"); asked != "" {
			c.Header("Access-Control-Allow-Headers", asked)
		}
	}
	c.AbortWithStatus(http.StatusNoContent)
}
