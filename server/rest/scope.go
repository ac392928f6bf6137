package rest

import (
	"cmp"
	"context"
	"log/slog"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/base/fault"
)

// scope holds the toolkit's values of one request. It is itself the request's context, which saves a wrapper. The
// middlewares fill it in on the goroutine of the request, before handlers pass the context on to readers.
type scope struct {
	context.Context

	requestID   string
	accessToken string // the access token that RequireBearer has verified, "" on other routes
	caller      string // the authenticated player, operator or key, "" before authentication
	role        string // what the log calls the caller; "" means "player"
	problemCode string // of the problem that was answered, "" when none was
	cause       error  // of that problem
	errorWriter ErrorWriter
	logAttrs    []slog.Attr
	region      string // the region and mode that the request names; see [NoteScope]
	mode        string

	listenerName string // see [Options.ListenerName]

	serverCaller *ServerCaller // whose own credential came with the request of a game server
}

// listenerOrAPI returns the name of the listener that the request came to.
func (s *scope) listenerOrAPI() string { return cmp.Or(s.listenerName, fault.ListenerAPI) }

// AddLogAttrs adds attributes to the access log line of the request that the context belongs to. Outside of requests it
// does nothing. Attributes must not be tokens or session handles. Only the goroutine that serves the request may call
// it.
func AddLogAttrs(ctx context.Context, attrs ...slog.Attr) {
	if s, ok := scopeIn(ctx); ok {
		s.logAttrs = append(s.logAttrs, attrs...)
	}
}

// NoteScope states the region and mode that a request names, for [Options.OnRefusal]. They must be valid. Only the
// goroutine that serves the request may call it.
func NoteScope(ctx context.Context, region, mode string) {
	if s, ok := scopeIn(ctx); ok {
		s.region, s.mode = region, mode
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

// scopeOf returns the scope of a request, and makes it if no middleware has.
func scopeOf(c *gin.Context) *scope {
	if s, ok := scopeIn(c.Request.Context()); ok {
		return s
	}
	s := &scope{Context: c.Request.Context()}
	c.Request = c.Request.WithContext(s)
	return s
}
