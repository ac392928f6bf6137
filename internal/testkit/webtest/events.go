package webtest

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/await"
)

// Event is one server-sent event. Comments (": text") are not events.
type Event struct{ Name, ID, Data string }

// Events sends a request whose answer is a stream of events. It returns the answer without its body, and a channel of
// the events, which is closed when the stream ends. The end of the request's context ends the stream.
func Events(t testing.TB, client *http.Client, r *http.Request) (Answer, <-chan Event) {
	t.Helper()
	res, err := client.Do(r) //nolint:bodyclose // the reader below closes it
	require.NoError(t, err)
	events := make(chan Event, 100) // so that reading does not wait for the test
	go func() {
		defer close(events)
		defer func() { _ = res.Body.Close() }()
		readEvents(bufio.NewScanner(res.Body), events)
	}()
	return Answer{Status: res.StatusCode, Header: res.Header}, events
}

func readEvents(lines *bufio.Scanner, events chan<- Event) {
	lines.Buffer(nil, 1<<20) // an event may be longer than the 64 KiB that a Scanner takes
	var e Event
	for lines.Scan() {
		switch field, value, _ := strings.Cut(lines.Text(), ": "); field {
		case "event":
			e.Name = value
		case "id":
			e.ID = value
		case "data":
			e.Data = value
		case "": // an empty line, which ends an event, or a comment
			if e.Name != "" && lines.Text() == "" {
				events <- e
				e = Event{}
			}
		}
	}
}

// Fields returns the JSON object that is the data of an event; nil: the data is something else.
func (e Event) Fields() (fields map[string]any) {
	_ = json.Unmarshal([]byte(e.Data), &fields)
	return fields
}

// NextEvent returns the next event, which has to come within a minute; the zero value when the stream has ended.
func NextEvent(t testing.TB, events <-chan Event) Event {
	t.Helper()
	return await.Value(t, events, "an event")
}
