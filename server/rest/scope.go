package rest

import (
	"context"
	"log/slog"

	"github.com/gin-gonic/gin"
)

// scope is what the toolkit knows about one request. It is the request's context too, so that knowing it costs one
// allocation. The middlewares fill it in one after the other, on the goroutine of the request; whoever holds the context
// reads it afterwards.
type scope struct {
	context.Context

	id     [1]string // the request id; an array, to be the header's value as it is
	caller string    // who was authenticated, "" before that
	code   string    // of the problem that answered, "" when none did
	cause  error     // why
	notes  []slog.Attr
}

// Note adds attributes to the access log's line of the request that the context belongs to, and does nothing outside of
// requests. They must not be tokens or session handles. It is for the goroutine that serves the request.
func Note(ctx context.Context, attrs ...slog.Attr) {
	if s, ok := scopeIn(ctx); ok {
		s.notes = append(s.notes, attrs...)
	}
}

type scopeKey struct{}

// Value implements context.Context.
func (s *scope) Value(key any) any {
	if key == (scopeKey{}) {
		return s
	}
	return s.Context.Value(key)
}

func scopeIn(ctx context.Context) (*scope, bool) {
	s, ok := ctx.Value(scopeKey{}).(*scope)
	return s, ok
}

// scopeOf is the scope of a request, begun here when no middleware has done so.
func scopeOf(c *gin.Context) *scope {
	if s, ok := scopeIn(c.Request.Context()); ok {
		return s
	}
	s := &scope{Context: c.Request.Context()}
	c.Request = c.Request.WithContext(s)
	return s
}
