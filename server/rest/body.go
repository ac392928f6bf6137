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

const (
	maxBody    = 64 << 10 // bytes
	maxDropped = 1 << 20  // bytes of a body that is read and dropped; they take no memory
)

// Bodies reads request bodies before their calls take slots of a [Gate], so that slow senders cannot occupy the slots.
// A body must arrive within the timeout. The number of bodies being read is limited too: when one more begins, the one
// that has been read for longest is given up and answered 408. Most bodies arrive together with their headers, so slow
// senders displace each other. A body takes up to 64 KiB of memory. Safe for concurrent use.
type Bodies struct {
	maxReading  int
	bodyTimeout time.Duration

	mu      sync.Mutex
	reading list.List // of *http.ResponseController, the oldest first
}

// NewBodies reads up to limit bodies at a time, each within the timeout. A limit of 0 or less allows any number.
func NewBodies(limit int, timeout time.Duration) *Bodies {
	return &Bodies{maxReading: limit, bodyTimeout: timeout}
}

// Read is the middleware. It belongs behind authentication, which needs headers only, and before [Gate.Enter].
func (b *Bodies) Read(c *gin.Context) {
	b.readChecked(c, checkMedia, func(*bodyBuffer) error { return nil })
}

// ReadForm is Read for the forms of a browser. Handlers read them as usual.
func (b *Bodies) ReadForm(c *gin.Context) {
	b.readChecked(c, checkFormMedia, func(body *bodyBuffer) error {
		if !isTextForm(body.String()) {
			return errStrangeText
		}
		return nil
	})
}

// readChecked reads a body, and calls the handlers behind it. checkHeader and checkContent return why a request is refused,
// before the body is read and after.
func (b *Bodies) readChecked(c *gin.Context, checkHeader func(http.Header) error, checkContent func(*bodyBuffer) error) {
	if c.Request.Method == http.MethodGet {
		return
	}
	body, err := b.readBounded(c, checkHeader)
	if err != nil {
		Fail(c, err)
		return
	}
	defer bodyBuffers.Put(body)
	if err := checkContent(body); err != nil {
		Fail(c, err)
		return
	}
	c.Request.Body = body
	c.Next()
}

// readBounded reads a body within the timeout, as one of those that are being read.
func (b *Bodies) readBounded(c *gin.Context, checkHeader func(http.Header) error) (*bodyBuffer, error) {
	control := http.NewResponseController(c.Writer)
	// An error means that the request has no connection, in tests.
	_ = control.SetReadDeadline(time.Now().Add(b.bodyTimeout))
	entry := b.beginReading(control)
	body, err := readBody(c.Request, checkHeader)
	b.endReading(entry)
	// After an error the deadline stays: net/http reads part of the rest of the body before it answers.
	return body, err
}

// beginReading adds a body to those being read. If there are too many, it sets the deadline of the oldest to now, which
// ends it.
func (b *Bodies) beginReading(control *http.ResponseController) (entry *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.maxReading > 0 && b.reading.Len() >= b.maxReading {
		oldest := b.reading.Remove(b.reading.Front()).(*http.ResponseController)
		_ = oldest.SetReadDeadline(time.Now())
	}
	return b.reading.PushBack(control)
}

// endReading removes a body from those being read. After it, beginReading no longer changes the deadline of the
// connection.
func (b *Bodies) endReading(entry *list.Element) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.reading.Remove(entry) // does nothing for a body that was given up
}

// DropBody is the middleware of calls other than GET that take no body. If a caller sends a body, it is read and dropped
// before the call takes a slot or waits, because net/http notices that a caller disconnects only after the body.
func DropBody(c *gin.Context) {
	if err := dropBody(c.Request); err != nil {
		Fail(c, err)
	}
}

// dropBody reads a body of at most 1 MiB to its end.
func dropBody(r *http.Request) *Problem {
	n, err := io.Copy(io.Discard, io.LimitReader(r.Body, maxDropped+1))
	switch {
	case err != nil:
		return errBodyTooSlow
	case n > maxDropped:
		return errBodyTooLarge
	}
	r.Body = http.NoBody
	return nil
}

// bodyBuffer holds a body that was read. The limited reader is a field so that it is reused with the buffer.
type bodyBuffer struct {
	bytes.Buffer
	limitedSource io.LimitedReader
}

// Close implements io.Closer, for http.Request.Body.
func (b *bodyBuffer) Close() error { return nil }

var bodyBuffers = sync.Pool{New: func() any { return new(bodyBuffer) }}

// readBody reads a body of at most 64 KiB whose headers pass the check. The caller puts the buffer back into
// bodyBuffers after use. Every error is a *Problem with a 4xx status.
func readBody(r *http.Request, checkHeader func(http.Header) error) (*bodyBuffer, error) {
	if err := checkHeader(r.Header); err != nil {
		return nil, err
	}
	// A body whose header says that it is too large is not read.
	if r.ContentLength > maxBody {
		return nil, errBodyTooLarge
	}
	buf := bodyBuffers.Get().(*bodyBuffer)
	if err := buf.fillFrom(r.Body); err != nil {
		bodyBuffers.Put(buf)
		return nil, err
	}
	return buf, nil
}

// checkMedia returns an error when the headers declare anything but uncompressed JSON in UTF-8.
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

// checkFormMedia returns an error when the headers declare anything but a form without files.
func checkFormMedia(h http.Header) error {
	media, _, err := mime.ParseMediaType(h.Get("Content-Type"))
	if err != nil || media != "application/x-www-form-urlencoded" {
		return errUnsupportedForm
	}
	return nil
}

// fillFrom reads a body to its end, or one byte beyond maxBody. Its error is a *Problem.
func (b *bodyBuffer) fillFrom(src io.Reader) error {
	b.Reset()
	b.limitedSource = io.LimitedReader{R: src, N: maxBody + 1}
	_, err := b.ReadFrom(&b.limitedSource)
	b.limitedSource.R = nil // the pool must not keep the connection in memory
	if errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
		return errBodyTooSlow
	}
	if err != nil {
		return notJSON("the body could not be read to its end")
	}
	if b.Len() > maxBody {
		return errBodyTooLarge
	}
	return nil
}
