package console

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// contentPolicy allows what the console itself serves. No inline script or style: an id or a name that a stranger chose
// cannot become code even where html/template fails to escape it.
const contentPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secureHeaders is the middleware that sets the headers of every answer.
func (c *Console) secureHeaders(g *gin.Context) {
	h := g.Writer.Header()
	h.Set("Content-Security-Policy", contentPolicy)
	// For browsers that do not know frame-ancestors: a page in a frame could have its buttons pressed unseen.
	h.Set("X-Frame-Options", "DENY")
	// Exports have texts that players chose, which no browser may take for a page.
	h.Set("X-Content-Type-Options", "nosniff")
	// Paths have ids of players, which links to the consoles of other cells must not carry along.
	h.Set("Referrer-Policy", "same-origin")
	// A page of another site that opens the console gets no reference to its window.
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	// Pages of other sites cannot include the console's images, scripts or styles.
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	// Pages show players: neither a proxy nor a shared computer keeps them after the logout.
	h.Set("Cache-Control", "no-store")
	// Over plain HTTP browsers ignore this header, and a console at localhost without TLS has to stay reachable.
	if c.isSecure(g.Request) {
		h.Set("Strict-Transport-Security", "max-age=31536000") // 1 year
	}
}

// refuseOtherSites is the middleware that refuses forms of other sites. Forms also carry a token (session.go), for
// browsers that send neither Sec-Fetch-Site nor Origin.
func (c *Console) refuseOtherSites(g *gin.Context) {
	if err := c.crossSite.Check(g.Request); err != nil {
		rest.Fail(g, &rest.Problem{
			Status: http.StatusForbidden, Code: "forbidden", Title: "Sent by another site",
			Detail: "This form was not sent by the console. Open the console, and try again there.",
		})
	}
}

// isSecure reports whether the browser speaks TLS: with this listener, with a trusted proxy before it, or because the
// configured URL says so.
func (c *Console) isSecure(r *http.Request) bool {
	// The header counts from a trusted proxy alone: anybody else could make cookies look safe that are not.
	return r.TLS != nil || strings.HasPrefix(c.options.URL, "https:") ||
		c.trustedProxies.TrustsPeer(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}
