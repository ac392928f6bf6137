package infra

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"

	"github.com/gin-gonic/gin"
)

// serveDocument serves a file of this build. Caches must revalidate it, because a replica of another version may answer
// the next request.
func serveDocument(contentType string, content []byte) gin.HandlerFunc {
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Header("Content-Length", strconv.Itoa(len(content)))
		c.Data(http.StatusOK, contentType, content)
	}
}

// servePage serves a page with policy, the Content-Security-Policy that says what the page may load and call.
func servePage(policy string, content []byte) gin.HandlerFunc {
	serve := serveDocument("text/html; charset=utf-8", content)
	return func(c *gin.Context) {
		c.Header("Content-Security-Policy", policy)
		c.Header("Referrer-Policy", "no-referrer")
		serve(c)
	}
}

// inlineElement matches an inline script or style: its name, and its content.
var inlineElement = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// manualPolicy allows the manual its own script and style, which are inline so that the page loads nothing, and nothing
// else.
func manualPolicy(content []byte) string {
	sources := map[string]string{}
	for _, m := range inlineElement.FindAllSubmatch(content, -1) {
		sum := sha256.Sum256(m[2])
		sources[string(m[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src" + sources["script"] + "; style-src" + sources["style"] +
		"; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// serveAsset serves a compressed file, unpacked for callers that do not accept gzip. Caches revalidate it by its entity
// tag.
func serveAsset(contentType string, packed []byte) gin.HandlerFunc {
	sum := sha256.Sum256(packed)
	etag := `W/"` + hex.EncodeToString(sum[:8]) + `"` // weak, since both codings have it
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Header("ETag", etag)
		c.Header("Vary", "Accept-Encoding")
		c.Header("X-Content-Type-Options", "nosniff")
		// matchesETag compares weakly, and takes the tag without the prefix.
		if matchesETag(c.GetHeader("If-None-Match"), strings.TrimPrefix(etag, "W/")) {
			c.Status(http.StatusNotModified)
			return
		}
		if strings.Contains(c.GetHeader("Accept-Encoding"), "gzip") {
			c.Header("Content-Encoding", "gzip")
			c.Data(http.StatusOK, contentType, packed)
			return
		}
		c.Header("Content-Type", contentType)
		c.Status(http.StatusOK)
		if plain, err := gzip.NewReader(bytes.NewReader(packed)); err == nil {
			//nolint:gosec // the file is compiled in; the copy fails when the caller has gone
			_, _ = io.Copy(c.Writer, plain)
		}
	}
}

func compressBytes(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // into memory
	_ = w.Close()
	return packed.Bytes()
}
