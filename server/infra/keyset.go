package infra

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// Keys is the public side of the signing keys; keyring.Keeper implements it.
type Keys interface {
	JWKS() (document []byte, etag string, err error)
	WebhookKeySet() (document []byte, etag string, err error)
	MaxAge() time.Duration
	Usable() error
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
