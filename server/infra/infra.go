// Package infra is what everybody may read, as api/openapi.yaml describes it: the key set that verifies session tokens,
// liveness, readiness, and the contract itself for machines and for people. Metrics and profiles are not here: they have
// a listener of their own, in server.
package infra

import (
	"context"
	"fmt"
	"net/http"
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

// Mount adds the routes of this face.
func Mount(r gin.IRouter, keys Keys, ready Readiness) {
	r.GET("/.well-known/jwks.json", keySet(keys))
	r.GET("/healthz", rest.Handle(http.StatusOK, health))
	r.GET("/readyz", rest.Handle(http.StatusOK, (&probe{Readiness: ready}).answer))
	r.GET("/openapi.yaml", document("application/yaml", api.OpenAPI()))
	r.GET("/docs", document("text/html; charset=utf-8", api.Docs()))
}

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
		c.Data(http.StatusOK, contentType, content)
	}
}
