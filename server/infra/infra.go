// Package infra is the face without authentication, as specified in api/openapi.yaml: the key sets that verify session
// tokens and webhooks, liveness, readiness, and the API's contract as YAML, as a manual, and in a reader that searches and tries it.
// Metrics and profiles have a listener of their own, in server.
package infra

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/api"
	"github.com/lattice-director/director/server/rest"
)

// Keys is the public side of the signing keys; keyring.Keeper implements it.
type Keys interface {
	JWKS() (document []byte, etag string, err error)
	WebhookKeySet() (document []byte, etag string, err error)
	MaxAge() time.Duration
	Usable() error
}

// Mount adds the routes of this face. The routes of the contract answer GET and HEAD.
//
// It returns what /readyz checks, for the probes of other listeners: nil means that this replica should get traffic.
func Mount(r gin.IRouter, keys Keys, ready Readiness) func(ctx context.Context) error {
	p := &probe{readiness: ready}
	serve := func(path string, answer gin.HandlerFunc) {
		r.Match([]string{http.MethodGet, http.MethodHead}, path, answer)
	}
	serve("/.well-known/jwks.json", keySet(keys.JWKS, keys.MaxAge()))
	serve("/.well-known/webhook-keys.json", keySet(keys.WebhookKeySet, keys.MaxAge()))
	serve("/healthz", rest.Handle(http.StatusOK, answerHealth))
	serve("/readyz", rest.Handle(http.StatusOK, p.answerReady))
	serve("/openapi.yaml", serveDocument("application/yaml", api.OpenAPI()))
	serve("/docs", servePage(manualPolicy(api.Docs()), api.Docs()))
	mountReader(r)
	// for people who open the address in a browser
	r.GET("/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") })
	r.GET("/favicon.ico", serveDocument("image/svg+xml", []byte(icon)))
	return p.checkReady
}

// icon is the favicon: four points of a lattice.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M4 1v14M12 1v14M1 4h14M1 12h14" stroke="#46b"/>` +
	`<g fill="#46b"><circle cx="4" cy="4" r="2"/><circle cx="12" cy="4" r="2"/><circle cx="4" cy="12" r="2"/><circle cx="12" cy="12" r="2"/></g></svg>`

type healthAnswer struct {
	Status string `json:"status"`
}

func answerHealth(context.Context, rest.In[rest.None]) (healthAnswer, error) {
	return healthAnswer{"ok"}, nil
}

// keySet serves a document that read returns with its entity tag.
func keySet(read func() (document []byte, etag string, err error), maxAge time.Duration) gin.HandlerFunc {
	cacheControl := fmt.Sprintf("public, max-age=%d", int(maxAge.Seconds()))
	return func(c *gin.Context) {
		set, etag, err := read()
		if err != nil {
			rest.Fail(c, err)
			return
		}
		c.Header("Cache-Control", cacheControl)
		c.Header("ETag", etag)
		if matchesETag(c.GetHeader("If-None-Match"), etag) {
			c.Status(http.StatusNotModified)
			return
		}
		c.Data(http.StatusOK, "application/json", set)
	}
}

// matchesETag reports whether an If-None-Match header lists the entity tag, by weak comparison (RFC 9110 section
// 13.1.2). Splitting at commas is safe, because our entity tags hold none.
func matchesETag(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// serveDocument serves a file of this build. Caches must revalidate it, because a replica of another version may answer the
// next request.
func serveDocument(contentType string, content []byte) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Header("Content-Length", strconv.Itoa(len(content)))
		c.Data(http.StatusOK, contentType, content)
	}
}
