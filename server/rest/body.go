package rest

import (
	"bytes"
	"container/list"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/gin-gonic/gin"
)

const maxBody = 64 << 10 // bytes

// Bodies reads bodies before their calls take places of a [Gate], so that callers that send slowly do not fill it. A body
// has to arrive within the timeout, and the number of bodies being read is limited: one more displaces the one that has been
// read for longest, which is answered 408. Most bodies arrive with their headers, so slow callers displace each other.
// A body takes up to 64 KiB. It is safe for concurrent use.
type Bodies struct {
	limit   int
	timeout time.Duration

	mu   sync.Mutex
	open list.List // of *http.ResponseController, the oldest first
}

// NewBodies reads up to limit bodies at a time (any number if it is not above 0), each within the timeout.
func NewBodies(limit int, timeout time.Duration) *Bodies {
	return &Bodies{limit: limit, timeout: timeout}
}

// Read is the middleware. It belongs behind what judges headers and before [Gate.Enter].
func (b *Bodies) Read(c *gin.Context) {
	if c.Request.Method == http.MethodGet {
		return
	}
	body, err := b.read(c)
	if err != nil {
		Fail(c, err)
		return
	}
	defer bodyBuffers.Put(body)
	c.Request.Body = body
	c.Next()
}

func (b *Bodies) read(c *gin.Context) (*bodyBuffer, error) {
	control := http.NewResponseController(c.Writer)
	_ = control.SetReadDeadline(time.Now().Add(b.timeout)) // fails only where no connection is behind the request
	place := b.begin(control)
	body, err := readBody(c.Request)
	b.end(place)
	if err != nil {
		return nil, err // The deadline stays: net/http reads a part of what is left before it answers.
	}
	_ = control.SetReadDeadline(time.Time{}) // While the call runs, net/http reads on to see whether the caller leaves.
	return body, nil
}

// begin counts a body as being read, and gives up the oldest one if there are too many.
func (b *Bodies) begin(control *http.ResponseController) (place *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.limit > 0 && b.open.Len() >= b.limit {
		oldest := b.open.Remove(b.open.Front()).(*http.ResponseController)
		_ = oldest.SetReadDeadline(time.Now())
	}
	return b.open.PushBack(control)
}

// end counts a body no more; from then on nobody else sets its deadline.
func (b *Bodies) end(place *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open.Remove(place) // does nothing for one that was given up
}

// bodyBuffer is a body that was read. The limiter lives beside it to be reused with it.
type bodyBuffer struct {
	bytes.Buffer
	src io.LimitedReader
}

// Close implements io.Closer, for http.Request.Body.
func (b *bodyBuffer) Close() error { return nil }

var bodyBuffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

// readBody reads a body of at most 64 KiB that says of itself that it is JSON, or says nothing. The buffer goes back to
// bodyBuffers after use. Every error is a *Problem of the 4xx kind.
func readBody(r *http.Request) (*bodyBuffer, error) {
	if err := checkMedia(r.Header); err != nil {
		return nil, err
	}
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	buf := bodyBuffers.Get().(*bodyBuffer)
	if err := buf.fill(r.Body); err != nil {
		bodyBuffers.Put(buf)
		return nil, err
	}
	return buf, nil
}

// checkMedia refuses what says of itself that it is not plain JSON in UTF-8.
func checkMedia(h http.Header) error {
	if encoding := h.Get("Content-Encoding"); encoding != "" && !strings.EqualFold(encoding, "identity") {
		return errUnsupportedMedia
	}
	contentType := h.Get("Content-Type")
	if contentType == "" || contentType == "application/json" {
		return nil
	}
	media, params, err := mime.ParseMediaType(contentType)
	charset := params["charset"]
	switch {
	case err != nil,
		media != "application/json" && !(strings.HasPrefix(media, "application/") && strings.HasSuffix(media, "+json")),
		charset != "" && !strings.EqualFold(charset, "utf-8"):
		return errUnsupportedMedia
	}
	return nil
}

func (b *bodyBuffer) fill(src io.Reader) error {
	b.Reset()
	b.src = io.LimitedReader{R: src, N: maxBody + 1}
	_, err := b.ReadFrom(&b.src)
	b.src.R = nil
	switch {
	case err == nil && b.Len() > maxBody:
		return errBodyTooLarge
	case err == nil:
		return nil
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return errBodyTooSlow
	default:
		return notJSON("the body could not be read to its end")
	}
}
