package rest

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/gin-gonic/gin"
)

// Events sends server-sent events to one caller. It is for one goroutine.
type Events struct {
	stream *Stream
	idLast bool
	buffer bytes.Buffer
}

// EventsFormat is the form of events in a protocol of others. The zero value is that of our own.
type EventsFormat struct {
	ContentType  string        // "" means text/event-stream
	CacheControl string        // "" means no-store
	IDLast       bool          // the id of an event follows its data
	Timeout      time.Duration // for the caller to read a part of 32 KiB; 0 means 30 s
}

// NewEvents returns a writer of events. The route belongs behind [AllowWaiting], or sets no deadline of its own.
func NewEvents(c *gin.Context, f EventsFormat) *Events {
	header := http.Header{
		"Content-Type":  {cmp.Or(f.ContentType, "text/event-stream")},
		"Cache-Control": {cmp.Or(f.CacheControl, "no-store")},
	}
	return &Events{stream: NewStream(c, cmp.Or(f.Timeout, sendTimeout), header), idLast: f.IDLast}
}

// Begin sends the headers before the first event.
func (e *Events) Begin() { e.stream.Begin() }

// HandleEvents makes a gin handler of a function that sends server-sent events until it returns. An error that it
// returns before the first event is answered by [Fail]; a later one ends the stream. The route belongs behind
// [AllowWaiting].
func HandleEvents(fn func(ctx context.Context, in In[None], out *Events) error) gin.HandlerFunc {
	return handleEvents(sendTimeout, fn)
}

func handleEvents(timeout time.Duration, fn func(ctx context.Context, in In[None], out *Events) error) gin.HandlerFunc {
	return func(c *gin.Context) {
		out := NewEvents(c, EventsFormat{Timeout: timeout})
		err := fn(c.Request.Context(), In[None]{c: c}, out)
		if err != nil && !out.stream.hasBegun {
			Fail(c, err)
		}
		out.stream.End()
	}
}

// Send sends an event: its name, its id and, as JSON, its data. Errors: those of [Stream.Write]; the data cannot be
// encoded.
func (e *Events) Send(name string, id int, data any) error {
	encoded := jsonBuffers.Get().(*jsonBuffer)
	defer jsonBuffers.Put(encoded)
	encoded.content.Reset()
	if err := encoded.enc.Encode(data); err != nil {
		return err
	}
	return e.SendJSON(name, strconv.Itoa(id), bytes.TrimSuffix(encoded.content.Bytes(), []byte{'\n'}))
}

// SendJSON sends an event whose data is JSON without line breaks. An event without an id does not change the last id of
// the caller.
func (e *Events) SendJSON(name, id string, data json.RawMessage) error {
	e.appendLine("event: ", []byte(name))
	if id != "" && !e.idLast {
		e.appendLine("id: ", []byte(id))
	}
	e.appendLine("data: ", data)
	if id != "" && e.idLast {
		e.appendLine("id: ", []byte(id))
	}
	_ = e.buffer.WriteByte('\n')
	return e.writeBuffer()
}

// Comment sends a comment.
func (e *Events) Comment(text string) error {
	e.appendLine(": ", []byte(text))
	_ = e.buffer.WriteByte('\n')
	return e.writeBuffer()
}

// Beat sends a comment, so that proxies do not end a silent stream and a caller that has vanished is noticed.
func (e *Events) Beat() error { return e.Comment("still here") }

func (e *Events) appendLine(field string, value []byte) {
	for _, part := range [][]byte{[]byte(field), value, {'\n'}} {
		_, _ = e.buffer.Write(part)
	}
}

// writeBuffer sends the buffer, and empties it.
func (e *Events) writeBuffer() error {
	err := e.stream.Write(e.buffer.Bytes())
	e.buffer.Reset()
	if e.buffer.Cap() > streamPart {
		e.buffer = bytes.Buffer{} // a rare large event must not stay in memory
	}
	return err
}
