// Package infra is what everybody may read, as api/openapi.yaml describes it: the key set that verifies session tokens,
// liveness, readiness, and the contract itself for machines and for people. Metrics and profiles are not here: they have
// a listener of their own, in server.
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

// Keys is what is to be published of the signing keys; keyring.Keeper has it.
type Keys interface {
	JWKS() (document []byte, etag string, err error)
	MaxAge() time.Duration
	Usable() error
}

// Mount adds the routes of this face. Those of the contract answer GET and HEAD.
func Mount(r gin.IRouter, keys Keys, ready Readiness) {
	serve := func(path string, answer gin.HandlerFunc) {
		r.Match([]string{http.MethodGet, http.MethodHead}, path, answer)
	}
	serve("/.well-known/jwks.json", keySet(keys))
	serve("/healthz", rest.Handle(http.StatusOK, health))
	serve("/readyz", rest.Handle(http.StatusOK, (&probe{Readiness: ready}).answer))
	serve("/openapi.yaml", document("application/yaml", api.OpenAPI()))
	serve("/docs", document("text/html; charset=utf-8", api.Docs()))
	r.GET("/", func(c *gin.Context) { c.Redirect(http.StatusFound, "/docs") }) // for people who open the bare address
	r.GET("/favicon.ico", document("image/svg+xml", []byte(icon)))
}

// icon is what browsers show beside the title: four points of a lattice.
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path d="M4 1v14M12 1v14M1 4h14M1 12h14" stroke="#46b"/>` +
	`<g fill="#46b"><circle cx="4" cy="4" r="2"/><circle cx="12" cy="4" r="2"/><circle cx="4" cy="12" r="2"/><circle cx="12" cy="12" r="2"/></g></svg>`

type healthAnswer struct {
	Status string `json:"status"`
}

func health(context.Context, rest.In[rest.None]) (healthAnswer, error) {
	return healthAnswer{"ok"}, nil
}

func keySet(keys Keys) gin.HandlerFunc {
	cacheControl := fmt.Sprintf("public, max-age=%d", int(keys.MaxAge().Seconds()))
	return func(c *gin.Context) {
		set, etag, err := keys.JWKS()
		if err != nil {
			rest.Fail(c, err)
			return
		}
		c.Header("Cache-Control", cacheControl)
		c.Header("ETag", etag)
		if names(c.GetHeader("If-None-Match"), etag) {
			c.Status(http.StatusNotModified)
			return
		}
		c.Data(http.StatusOK, "application/json", set)
	}
}

// names tells whether an If-None-Match lists the entity tag, compared weakly (RFC 9110 section 13.1.2). Ours hold no
// comma.
func names(header, etag string) bool {
	for tag := range strings.SplitSeq(header, ",") {
		if tag = strings.TrimSpace(tag); tag == "*" || strings.TrimPrefix(tag, "W/") == etag {
			return true
		}
	}
	return false
}

// document answers what was compiled in. Another version of the director may answer the next request, so nobody keeps it.
func document(contentType string, content []byte) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Header("Content-Length", strconv.Itoa(len(content)))
		c.Data(http.StatusOK, contentType, content)
	}
}
