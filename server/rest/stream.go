package rest

import (
	"bytes"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

const (
	// MaxWait is the longest time that a call may wait for a change before it answers.
	MaxWait = time.Minute
	// sendTimeout is how long a caller may leave unread what is sent to it.
	sendTimeout = 30 * time.Second
)

// Lasting is the middleware of calls that may wait before they answer. It replaces the server's write deadline, which is for short
// calls. It belongs behind authentication, and such a call takes no slot of a [Gate] while it waits. One that is no GET belongs behind
// [Bodies.Read] or [DropBody], too.
func Lasting(c *gin.Context) {
	// an error means that the connection has no deadlines, in tests
	_ = http.NewResponseController(c.Writer).SetWriteDeadline(time.Now().Add(MaxWait + sendTimeout))
}

// Events sends server-sent events to one caller. It is for one goroutine.
type Events struct {
	c       *gin.Context
	control *http.ResponseController
	timeout time.Duration // of sending
	begun   bool
}

// HandleEvents makes a gin handler of a function that sends server-sent events until it returns. An error that it returns before
// the first event is answered by [Fail]; a later one ends the stream. The route belongs behind [Lasting].
func HandleEvents(fn func(ctx context.Context, in In[None], out *Events) error) gin.HandlerFunc {
	return handleEvents(sendTimeout, fn)
}

func handleEvents(timeout time.Duration, fn func(ctx context.Context, in In[None], out *Events) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		out := &Events{c: c, control: http.NewResponseController(c.Writer), timeout: timeout}
		err := fn(c.Request.Context(), In[None]{c: c}, out)
		if err != nil && !out.begun {
			Fail(c, err)
		}
		_ = out.control.SetWriteDeadline(time.Now().Add(timeout)) // for the end of the answer
	}
}

// Send sends an event: its name, its id and, as JSON, its data. Errors: the caller has disconnected, or has read nothing for 30
// seconds; the data cannot be encoded.
func (e *Events) Send(name string, id int, data any) error {
	buf := jsonBuffers.Get().(*jsonBuffer)
	defer jsonBuffers.Put(buf)
	buf.Reset()
	_, _ = buf.WriteString("event: " + name + "\nid: " + strconv.Itoa(id) + "\ndata: ")
	if err := buf.enc.Encode(data); err != nil { // one line, which Encode ends
		return err
	}
	_ = buf.WriteByte('\n')
	return e.write(buf.Bytes())
}

// Beat sends a comment, so that proxies do not end a silent stream and a caller that has vanished is noticed.
func (e *Events) Beat() error { return e.write([]byte(": still here\n\n")) }

// write sends text within the send timeout. In between the stream has no deadline: over HTTP/2, one that passes ends it.
func (e *Events) write(text []byte) error {
	_ = e.control.SetWriteDeadline(time.Now().Add(e.timeout))
	if !e.begun {
		e.begin()
	}
	_, err := bytes.NewReader(text).WriteTo(e.c.Writer)
	if err == nil {
		err = e.control.Flush()
	}
	_ = e.control.SetWriteDeadline(time.Time{})
	return err
}

func (e *Events) begin() {
	e.begun = true
	header := e.c.Writer.Header()
	header["Content-Type"] = []string{"text/event-stream"}
	header["Cache-Control"] = noStore
	header["X-Accel-Buffering"] = []string{"no"} // of nginx, which otherwise collects answers
	e.c.Writer.WriteHeader(http.StatusOK)
}
