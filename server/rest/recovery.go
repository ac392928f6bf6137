package rest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/gin-gonic/gin"
)

// recoverPanics logs a panic with its stack and answers it with a 500 problem. It replaces gin's own, which swallows
// http.ErrAbortHandler and ends a truncated answer as if it were complete.
func recoverPanics(log *slog.Logger) gin.HandlerFunc {
	return func(c *gin.Context) {
		defer func() {
			if cause := recover(); cause != nil {
				answerPanic(c, log, cause)
			}
		}()
		c.Next()
	}
}

func answerPanic(c *gin.Context, log *slog.Logger, cause any) {
	if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
		panic(cause) // net/http closes the connection on this value.
	}
	log.LogAttrs(c.Request.Context(), slog.LevelError, "panic",
		slog.String("route", routePattern(c)),
		slog.String("panic", fmt.Sprint(cause)),
		slog.String("stack", string(debug.Stack())))
	if c.Writer.Written() {
		// The client must not take a truncated answer for a complete one.
		panic(http.ErrAbortHandler)
	}
	Fail(c, fmt.Errorf("panic: %v", cause))
}
