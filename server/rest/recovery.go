package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
)

// recovery answers a panic with a 500 problem and logs it with its stack. gin's own would print the request's headers,
// fleet tokens included.
func recovery(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause != nil {
				recovered(c, log, cause)
			}
		}()
		c.Next()
	}
}

func recovered(c *gin.Context, log *slog.Logger, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // net/http's own way to cut a connection.
	}
	log.LogAttrs(c.Request.Context(), slog.LevelError, "panic",
		slog.String("route", route(c)),
		slog.String("panic", fmt.Sprint(cause)),
		slog.String("stack", string(debug.Stack())))
	if c.Writer.Written() {
		// Half an answer must not look like a whole one.
		panic(http.ErrAbortHandler)
	}
	Fail(c, fmt.Errorf("panic: %v", cause))
}
