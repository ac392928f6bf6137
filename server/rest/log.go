package rest

import (
	"cmp"
	"log/slog"
	"net/http"
	"slices"
	"time"

	"github.com/gin-gonic/gin"
)

// Values of the label route that are not patterns.
const (
	routeUnmatched = "unmatched" // no route matched the request
	routeRefused   = "refused"   // [Gate.Guard] refused the request before routing
)

// routePattern returns the pattern that matched, as in /sessions/:id. Paths, queries, headers and bodies hold tokens
// and session handles, so they are never logged or used as labels.
func routePattern(c *gin.Context) string {
	if pattern := c.FullPath(); pattern != "" {
		return pattern
	}
	return routeUnmatched
}

// accessLog logs one line for each request, with the caller that a middleware authenticated and the attributes that the
// face added ([AddLogAttrs]). Lines of 5xx answers carry the cause, which the answer does not reveal. Quiet routes are
// logged at debug level unless they fail.
func accessLog(log *slog.Logger, quiet []string) gin.HandlerFunc {
	return func(c *gin.Context) {
		start := time.Now()
		defer func() {
			level := accessLevel(c, quiet)
			ctx := c.Request.Context()
			if log.Enabled(ctx, level) {
				log.LogAttrs(ctx, level, "request", accessAttrs(c, time.Since(start))...)
			}
		}()
		c.Next()
	}
}

// accessLevel returns the level of a line: an error for a defect, which is answered 500, and a warning for a failure
// that passes, such as an outage of the database.
func accessLevel(c *gin.Context, quiet []string) slog.Level {
	switch status := c.Writer.Status(); {
	case status == http.StatusInternalServerError:
		return slog.LevelError
	case status > http.StatusInternalServerError:
		return slog.LevelWarn
	case status < http.StatusBadRequest && slices.Contains(quiet, c.FullPath()):
		return slog.LevelDebug
	default:
		return slog.LevelInfo
	}
}

func accessAttrs(c *gin.Context, took time.Duration) []slog.Attr {
	status := c.Writer.Status()
	attrs := make([]slog.Attr, 0, 10)
	attrs = append(attrs,
		slog.String("method", methodLabel(c.Request.Method)),
		slog.String("route", routePattern(c)),
		slog.Int("status", status),
		slog.Duration("duration", took),
		// gin's size is -1 while nothing was written.
		slog.Int("bytes", max(0, c.Writer.Size())),
	)
	s := scopeOf(c)
	if s.caller != "" {
		attrs = append(attrs, slog.String(cmp.Or(s.role, "player"), s.caller))
	}
	attrs = append(attrs, s.logAttrs...)
	if s.problemCode != "" {
		attrs = append(attrs, slog.String("code", s.problemCode))
	}
	if s.cause != nil && status >= http.StatusInternalServerError {
		attrs = append(attrs, slog.Any("error", s.cause))
	}
	return attrs
}

// methodLabel replaces unknown methods, so that callers cannot add text to logs or series to metrics.
func methodLabel(method string) string {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch,
		http.MethodDelete, http.MethodOptions, http.MethodConnect, http.MethodTrace:
		return method
	default:
		return "other"
	}
}
