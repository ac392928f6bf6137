package infra

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/http"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
	"github.com/swaggest/swgui/v5/static"

	"github.com/lattice-director/director/api"
)

// readerFiles are the page of the reader, and what it adds to Swagger UI.
//
//go:embed reader
var readerFiles embed.FS

// readerPolicy lets the page load files of this origin and call it, and nothing else. No script and no style is inline.
const readerPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// mountReader adds the page that searches the contracts and tries their calls, at /docs/try, with its files below it.
func mountReader(r gin.IRouter) {
	r.GET("/nexis.yaml", serveDocument("application/yaml", api.Nexis()))
	r.GET("/docs/try", servePage(readerPolicy, mustRead(readerFiles, "reader/index.html")))
	for name, contentType := range map[string]string{"reader.js": "text/javascript; charset=utf-8",
		"reader.css": "text/css; charset=utf-8"} {
		r.GET("/docs/try/"+name, serveAsset(contentType, compressBytes(mustRead(readerFiles, "reader/"+name))))
	}
	for name, contentType := range map[string]string{"swagger-ui-bundle.js": "text/javascript; charset=utf-8",
		"swagger-ui.css": "text/css; charset=utf-8"} {
		r.GET("/docs/try/"+name, serveAsset(contentType, mustRead(static.FS, name+".gz")))
	}
}

// servePage serves a page with what it may load and call.
func servePage(policy string, content []byte) gin.HandlerFunc {
	serve := serveDocument("text/html; charset=utf-8", content)
	return func(c *gin.Context) {
		c.Header("Content-Security-Policy", policy)
		c.Header("Referrer-Policy", "no-referrer")
		serve(c)
	}
}

var inline = regexp.MustCompile(`(?s)<(script|style)>(.*?)</(?:script|style)>`)

// manualPolicy allows the manual its own script and style, which are inline so that the page loads nothing, and nothing
// else.
func manualPolicy(content []byte) string {
	sources := map[string]string{}
	for _, m := range inline.FindAllSubmatch(content, -1) {
		sum := sha256.Sum256(m[2])
		sources[string(m[1])] += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return "default-src 'none'; script-src" + sources["script"] + "; style-src" + sources["style"] +
		"; img-src 'self'; " +
		"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
}

// mustRead reads a file that is compiled in.
func mustRead(files embed.FS, name string) []byte {
	content, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return content
}

func compressBytes(content []byte) []byte {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, _ = w.Write(content) // into memory
	_ = w.Close()
	return packed.Bytes()
}

// serveAsset serves a compressed file, unpacked for callers that do not accept gzip. Caches revalidate it by its entity tag.
func serveAsset(contentType string, packed []byte) gin.HandlerFunc {
	sum := sha256.Sum256(packed)
	etag := `W/"` + hex.EncodeToString(sum[:8]) + `"` // weak, since both codings have it
	return func(c *gin.Context) {
		c.Header("Cache-Control", "no-cache")
		c.Header("ETag", etag)
		c.Header("Vary", "Accept-Encoding")
		c.Header("X-Content-Type-Options", "nosniff")
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
			_, _ = io.Copy(c.Writer, plain) //nolint:gosec // the file is compiled in; the copy fails when the caller has gone
		}
	}
}
