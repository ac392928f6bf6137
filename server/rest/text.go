package rest

import (
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
)

// errStrangeText is the answer to a query or a form with text that cannot be stored.
var errStrangeText = &Problem{
	Status: http.StatusBadRequest, Code: kinds[fault.Invalid].Code, Title: kinds[fault.Invalid].Title,
	Detail: "The request must be UTF-8 without the character U+0000.",
}

// checkText is the middleware that refuses text which Postgres cannot store, in paths and queries: invalid UTF-8 and
// the character U+0000. [checkStrings] does the same for JSON bodies. Nothing has such a name, so a path with one is
// not found.
func checkText(c *gin.Context) {
	switch {
	case !isText(c.Request.URL.Path):
		Fail(c, errNoRoute)
	case !isTextForm(c.Request.URL.RawQuery):
		Fail(c, errStrangeText)
	}
}

// isText reports whether Postgres can store a string.
func isText(s string) bool { return utf8.ValidString(s) && strings.IndexByte(s, 0) < 0 }

// isTextForm reports whether all names and values of an encoded form are text. Pairs that cannot be decoded are no part
// of the form.
func isTextForm(encoded string) bool {
	for pair := range strings.SplitSeq(encoded, "&") {
		if decoded, err := url.QueryUnescape(pair); err == nil && !isText(decoded) {
			return false
		}
	}
	return true
}
