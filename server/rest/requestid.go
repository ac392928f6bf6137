package rest

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"log/slog"
	"math/rand/v2"
	"net/http"

	"github.com/gin-gonic/gin"
	"go.opentelemetry.io/otel/trace"
)

const headerRequestID = "X-Request-Id"

// requestID is the middleware that gives each request an id and returns it in the X-Request-Id header.
func requestID(c *gin.Context) {
	s := scopeOf(c)
	s.requestID = requestIDOf(c.Request)
	c.Header(headerRequestID, s.requestID)
}

// requestIDOf returns the caller's X-Request-Id if it is a valid [ID], else a new id.
func requestIDOf(r *http.Request) string {
	if id := r.Header.Get(headerRequestID); ID.Valid(id) {
		return id
	}
	return newRequestID()
}

// newRequestID returns 128 random bits in hex. It identifies log lines and protects nothing, so math/rand is enough.
func newRequestID() string {
	var id [16]byte
	binary.LittleEndian.PutUint64(id[:8], rand.Uint64())
	binary.LittleEndian.PutUint64(id[8:], rand.Uint64())
	var text [32]byte
	hex.Encode(text[:], id[:])
	return string(text[:])
}

// RequestID returns the id of the request that the context belongs to, "" outside of requests.
func RequestID(ctx context.Context) string {
	if s, ok := scopeIn(ctx); ok {
		return s.requestID
	}
	return ""
}

// LogHandler adds request_id, and trace_id if the request is traced, to every record that is logged with the context of
// a request. Packages that know no HTTP only have to log with their context. Wrapping twice is the same as once.
func LogHandler(next slog.Handler) slog.Handler {
	if h, ok := next.(logHandler); ok {
		return h
	}
	return logHandler{next}
}

type logHandler struct{ slog.Handler }

// Handle implements slog.Handler.
func (h logHandler) Handle(ctx context.Context, r slog.Record) error {
	if id := RequestID(ctx); id != "" {
		r.AddAttrs(slog.String("request_id", id))
	}
	if span := trace.SpanContextFromContext(ctx); span.HasTraceID() {
		r.AddAttrs(slog.String("trace_id", span.TraceID().String()))
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h logHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return logHandler{h.Handler.WithAttrs(attrs)}
}

// WithGroup implements slog.Handler.
func (h logHandler) WithGroup(name string) slog.Handler {
	return logHandler{h.Handler.WithGroup(name)}
}
