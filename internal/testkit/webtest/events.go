package webtest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Event is one server-sent event. A comment (": text") is none.
type Event struct{ Name, ID, Data string }

// Events sends a request whose answer is a stream of events, and returns the answer without its body. The events come
// on the channel, which is closed when the stream ends; the request's context ends it.
func Events(t testing.TB, client *http.Client, r *http.Request) (Answer, <-chan Event) {
	t.Helper()
	res, err := client.Do(r) //nolint:bodyclose // the reader below closes it
	require.NoError(t, err)
	out := make(chan Event, 100)
	go func() {
		defer close(out)
		defer func() { _ = res.Body.Close() }()
		readEvents(bufio.NewScanner(res.Body), out)
	}()
	return Answer{Status: res.StatusCode, Header: res.Header}, out
}

func readEvents(lines *bufio.Scanner, out chan<- Event) {
	lines.Buffer(nil, 1<<20)
	for e := (Event{}); lines.Scan(); {
		switch name, value, _ := strings.Cut(lines.Text(), ": "); {
		case name == "event":
			e.Name = value
		case name == "id":
			e.ID = value
		case name == "data":
			e.Data = value
		// A comment ends with an empty line, too, and is no event.
		case lines.Text() == "" && e.Name != "":
			out <- e
			e = Event{}
		}
	}
}

// Fields is the JSON object of an event; nil if its data is none.
func (e Event) Fields() (fields map[string]any) {
	_ = json.Unmarshal([]byte(e.Data), &fields)
	return fields
}

// NextEvent waits for an event, which has to come within a minute. It is the zero value when the stream has ended.
func NextEvent(t testing.TB, events <-chan Event) Event {
	t.Helper()
	select {
	case e := <-events:
		return e
	case <-time.After(time.Minute):
		require.Fail(t, "no event")
		return Event{}
	}
}
