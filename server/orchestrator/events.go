package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/internal/rivalis/roster"
	"github.com/lattice-director/director/server/rest"
)

// Follower is one reader of the fleet's events. [roster.Stream] implements it.
type Follower interface {
	// Next waits for events. Errors: ctx's, after which the follower can be used again; any other error ends the follower.
	Next(ctx context.Context) ([]roster.Event, error)
	Close()
}

const (
	pingInterval = 15 * time.Second
	streamPart   = 32 << 10 // bytes; an event of an instance with 50,000 rooms has several megabytes
)

// events answers GET /v1/events with server-sent events until the caller disconnects or this replica stops.
func (s *REST) events(c *gin.Context) {
	if c.Request.Method == http.MethodHead {
		beginStream(c.Writer)
		return
	}
	ctx, cancel := context.WithCancel(c.Request.Context())
	defer cancel()
	defer context.AfterFunc(s.Stopping, cancel)()
	follower, err := s.Follow(ctx, c.GetHeader("Last-Event-ID"))
	if err != nil {
		rest.Fail(c, err)
		return
	}
	defer follower.Close()
	out := stream{w: c.Writer, control: http.NewResponseController(c.Writer), timeout: s.streamTimeout}
	beginStream(c.Writer)
	_ = out.run(ctx, follower) // The error is not needed: the caller reconnects and continues after the last id that it received.
}

func beginStream(w gin.ResponseWriter) {
	header := w.Header()
	header["Content-Type"] = []string{"text/event-stream; charset=utf-8"}
	header["Cache-Control"] = []string{"no-cache, no-transform"}
	header["X-Accel-Buffering"] = []string{"no"} // turns off buffering in nginx
	w.WriteHeader(http.StatusOK)
	w.WriteHeaderNow()
}

// stream writes server-sent events to one caller. The frames equal upstream's byte for byte; gin's writer omits the space after the colon.
type stream struct {
	w       http.ResponseWriter
	control *http.ResponseController
	timeout time.Duration // within which the caller must read one part
	buffer  bytes.Buffer
}

// run sends events, and a ping every 15 seconds. Errors: the caller has disconnected or does not read, the follower has failed, or ctx's.
func (s *stream) run(ctx context.Context, follower Follower) error {
	if err := s.send([]byte(": connected\n\n")); err != nil {
		return err
	}
	ping := time.Now().Add(pingInterval)
	for {
		events, err := nextBefore(ctx, ping, follower)
		if err != nil {
			return err
		}
		for i := range events {
			if err := s.event(&events[i]); err != nil {
				return err
			}
		}
		if !time.Now().Before(ping) {
			if err := s.send([]byte(": ping\n\n")); err != nil {
				return err
			}
			ping = time.Now().Add(pingInterval)
		}
	}
}

// nextBefore waits for events until the next ping is due. It returns no events if there were none by then.
func nextBefore(ctx context.Context, ping time.Time, follower Follower) ([]roster.Event, error) {
	waiting, cancel := context.WithDeadline(ctx, ping)
	defer cancel()
	events, err := follower.Next(waiting)
	if ctx.Err() == nil && errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return events, err
}

// event sends an event. The id line follows upstream's two lines. An event without an id, such as sync, does not change the caller's last id.
func (s *stream) event(e *roster.Event) error {
	s.buffer.Reset()
	for _, part := range [][]byte{[]byte("event: "), []byte(e.Type), []byte("\ndata: "), e.Data} {
		_, _ = s.buffer.Write(part)
	}
	if e.ID != "" {
		_, _ = s.buffer.WriteString("\nid: " + e.ID)
	}
	_, _ = s.buffer.WriteString("\n\n")
	err := s.send(s.buffer.Bytes())
	if s.buffer.Cap() > streamPart {
		s.buffer = bytes.Buffer{} // a rare large event must not stay in memory
	}
	return err
}

// send sends text in parts. The caller must read each part within the timeout.
func (s *stream) send(text []byte) error {
	for len(text) > 0 {
		part := text[:min(len(text), streamPart)]
		text = text[len(part):]
		_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // an error means that the connection has no deadlines, in tests
		if _, err := s.w.Write(part); err != nil {
			return err
		}
		if err := s.control.Flush(); err != nil {
			return err
		}
	}
	return nil
}
