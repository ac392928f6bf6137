package bevygap

import (
	"net/http"
	"time"

	"github.com/gin-gonic/gin"
)

// serveStream answers with the frames of a WebSocket, one after the other without a delimiter.
func (f *Face) serveStream(c *gin.Context) {
	r := request{game: c.Param("game"), version: c.Param("version")}
	who, crowded, leave, ok := f.enter(c)
	if !ok {
		return
	}
	defer leave()
	s := &stream{c: c, control: http.NewResponseController(c.Writer), timeout: f.options.writeTimeout}
	f.serveHTTP(c, &conversation{request: r, out: s, who: who}, crowded)
}

// serveHTTP serves a request of either HTTP transport.
func (f *Face) serveHTTP(c *gin.Context, talk *conversation, crowded *failure) {
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{}) // an error means that the connection has no deadlines, in tests
	failed := crowded
	if err := talk.check(); err != nil && failed == nil {
		failed = fail(http.StatusBadRequest, "%s", err)
	}
	if failed != nil {
		e := ending{failed: failed}
		_ = talk.out.end(e) // nothing else is to be done for a client that is gone
		f.count(c.Request.Context(), e)
		return
	}
	talk.choice = f.choice(c, "")
	f.converse(c.Request.Context(), talk)
}

// stream is an answer that is sent frame by frame.
type stream struct {
	c       *gin.Context
	control *http.ResponseController
	timeout time.Duration
	begun   bool
}

// send implements outlet. Between two frames the stream has no deadline: over HTTP/2, one that passes ends it.
func (s *stream) send(frame []byte) error {
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout))
	if !s.begun {
		s.begin()
	}
	_, err := s.c.Writer.Write(frame)
	if err == nil {
		err = s.control.Flush()
	}
	if err == nil {
		err = s.c.Request.Context().Err() // net/http takes what it writes for sent
	}
	_ = s.control.SetWriteDeadline(time.Time{})
	return err
}

func (s *stream) begin() {
	s.begun = true
	header := s.c.Writer.Header()
	header.Set("Content-Type", "application/json")
	header.Set("Cache-Control", "no-store")
	header.Set("X-Accel-Buffering", "no") // of nginx, which otherwise collects answers
	s.c.Writer.WriteHeader(http.StatusOK)
}

// end implements outlet.
func (s *stream) end(e ending) error {
	err := s.send(e.frame())
	_ = s.control.SetWriteDeadline(time.Now().Add(s.timeout)) // for the end of the answer
	return err
}
