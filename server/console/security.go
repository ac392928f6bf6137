package console

import (
	"net/http"
	"strings"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// policy allows what the console itself serves. No inline script or style: an id or a name that a stranger chose cannot
// become code even where it escapes the escaping of html/template.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
	"form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// secureHeaders is the middleware that sets the headers of every answer.
func (c *Console) secureHeaders(g *gin.Context) {
	h := g.Writer.Header()
	h.Set("Content-Security-Policy", policy)
	// For browsers that do not know frame-ancestors: a page in a frame could have its buttons pressed unseen.
	h.Set("X-Frame-Options", "DENY")
	// Exports have texts that players chose, which no browser may take for a page.
	h.Set("X-Content-Type-Options", "nosniff")
	// Paths have ids of players, which links to the consoles of other cells must not carry along.
	h.Set("Referrer-Policy", "same-origin")
	// A window of another site that opened this one gets no handle on it, and includes nothing of it.
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), microphone=(), geolocation=()")
	// Pages show players: neither a proxy nor a shared computer keeps them after the logout.
	h.Set("Cache-Control", "no-store")
	// Over plain HTTP browsers ignore this header, and a console at localhost without TLS has to stay reachable.
	if c.isSecure(g.Request) {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// sameSite is the middleware that refuses forms of other sites. Forms also carry a token (session.go), for browsers
// that send neither Sec-Fetch-Site nor Origin.
func (c *Console) sameSite(g *gin.Context) {
	if err := c.crossSite.Check(g.Request); err != nil {
		rest.Fail(g, &rest.Problem{
			Status: http.StatusForbidden, Code: "forbidden", Title: "Sent by another site",
			Detail: "This form was not sent by the console. Open the console, and try again there.",
		})
	}
}

// isSecure reports whether the browser speaks TLS, with this listener or with a trusted proxy before it.
func (c *Console) isSecure(r *http.Request) bool {
	// The header counts from a trusted proxy alone: anybody else could make cookies look safe that are not.
	return r.TLS != nil || strings.HasPrefix(c.options.URL, "https:") ||
		c.trustedProxies.TrustsPeer(r) && r.Header.Get("X-Forwarded-Proto") == "https"
}
