package rest

import (
	"maps"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	// MaxWait is the longest time that a call may wait for a change before it answers.
	MaxWait = time.Minute
	// sendTimeout is how long a caller may leave unread what is sent to it.
	sendTimeout = 30 * time.Second
)

// AllowWaiting is the middleware of calls that may wait before they answer. It replaces the server's write deadline,
// which is for short calls. It belongs behind authentication, and behind [Bodies.Read] or [DropBody] if the call is no
// GET. A call takes no slot of a [Gate] while it waits.
func AllowWaiting(c *gin.Context) {
	// An error means that the connection has no deadlines, in tests.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(MaxWait + sendTimeout))
}

// Stream sends an answer to one caller piece by piece. It is for one goroutine.
type Stream struct {
	c           *gin.Context
	control     *http.ResponseController
	partTimeout time.Duration // of each part
	header      http.Header   // of the answer
	hasBegun    bool
}

// streamPart is how many bytes a caller must read within one timeout: a piece may have several megabytes.
const streamPart = 32 << 10

// NewStream returns a stream with the headers of its answer. The timeout is for the caller to read one part.
func NewStream(c *gin.Context, timeout time.Duration, header http.Header) *Stream {
	return &Stream{c: c, control: http.NewResponseController(c.Writer), partTimeout: timeout, header: header}
}

// Begin sends status and headers, unless a piece was sent.
func (s *Stream) Begin() {
	if s.hasBegun {
		return
	}
	s.hasBegun = true
	maps.Copy(s.c.Writer.Header(), s.header)
	s.c.Writer.Header()["X-Accel-Buffering"] = []string{"no"} // of nginx, which otherwise collects answers
	s.c.Writer.WriteHeader(http.StatusOK)
	s.c.Writer.WriteHeaderNow()
}

// Write sends a piece. Between pieces the stream has no deadline: over HTTP/2, a deadline that passes ends the stream.
// Errors: the caller has disconnected, or does not read.
func (s *Stream) Write(piece []byte) error {
	// An error means that the connection has no deadlines, in tests.
	defer func() { _ = s.control.SetWriteDeadline(time.Time{}) }()
	for len(piece) > 0 {
		part := piece[:min(len(piece), streamPart)]
		piece = piece[len(part):]
		s.limitWrite()
		s.Begin()
		if _, err := s.c.Writer.Write(part); err != nil {
			return err
		}
		if err := s.control.Flush(); err != nil {
			return err
		}
	}
	return nil
}

// End limits the time in which the end of the answer must be read.
func (s *Stream) End() { s.limitWrite() }

func (s *Stream) limitWrite() { _ = s.control.SetWriteDeadline(time.Now().Add(s.partTimeout)) }
