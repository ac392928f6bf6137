package bevygap

import (
	"context"
	"net/http"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/lattice-director/director/server/rest"
)

// serveStream answers with the frames of a WebSocket, one after the other without a delimiter.
func (f *Face) serveStream(c *gin.Context) {
	r := request{game: c.Param("game"), version: c.Param("version")}
	who, crowded, leave, ok := f.takeSlot(c)
	if !ok {
		return
	}
	defer leave()
	f.serveHTTP(c, &conversation{request: r, outlet: f.newStream(c), caller: who}, crowded)
}

// serveHTTP serves a request of either HTTP transport. failed is the failure with which the request has to end; nil:
// none.
func (f *Face) serveHTTP(c *gin.Context, talk *conversation, failed *failure) {
	// The answer takes as long as a server takes to start. An error means that the connection has no deadlines, in
	// tests.
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Time{})
	// A refusal is an answer of 200 with an error frame, since the frames are all that bevygap's client reads.
	if err := talk.request.checkNames(); err != nil && failed == nil {
		failed = newFailure(http.StatusBadRequest, "%s", err)
	}
	if failed != nil {
		e := ending{failure: failed}
		_ = talk.outlet.sendLast(e) // nothing else is to be done for a client that is gone
		f.countEnding(c.Request.Context(), e)
		return
	}
	talk.choice = f.readChoice(c, "")
	f.serveConversation(c.Request.Context(), talk)
}

// stream is an answer that is sent frame by frame.
type stream struct {
	requestContext context.Context //nolint:containedctx // of the request
	out            *rest.Stream
}

func (f *Face) newStream(c *gin.Context) *stream {
	header := http.Header{"Content-Type": {"application/json"}, "Cache-Control": {"no-store"}}
	return &stream{requestContext: c.Request.Context(), out: rest.NewStream(c, f.options.writeTimeout, header)}
}

// sendFrame implements outlet.
func (s *stream) sendFrame(frame []byte) error {
	if err := s.out.Write(frame); err != nil {
		return err
	}
	return s.requestContext.Err() // Write succeeds also if the client has left
}

// sendLast implements outlet.
func (s *stream) sendLast(e ending) error {
	err := s.sendFrame(e.lastFrame())
	s.out.End()
	return err
}
