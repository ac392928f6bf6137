package sdk_test

import (
	"context"
	"io"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
)

// streams answers the streams of ticket t1 with these events, one stream after the other. Each event is sent once the one
// before is read; a stream then says nothing, until its reader stops waiting.
func streams(w *wire, script ...[]string) *sdk.Queued {
	w.inject(func(x exchange, _ func() *http.Response) (*http.Response, error) {
		if len(script) == 0 {
			return nil, errCut
		}
		events := script[0]
		script = script[1:]
		r, out := io.Pipe()
		go func() { <-x.done; _ = out.CloseWithError(context.Canceled) }()
		go func() {
			for _, event := range events {
				_, _ = io.WriteString(out, event)
			}
		}()
		return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/event-stream"}},
			Body: r}, nil
	})
	return w.player("alice").Queued("t1")
}

// Pins a stream that is silent because the network is gone, which TCP does not notice.
func TestWatchReplacesASilentStream(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		began := time.Now()
		seen, err := versions(t, streams(w, []string{event(1)}, []string{event(3)}))
		require.NoError(t, err)
		require.Equal(t, []int{1, 3}, seen)
		require.InDelta(t, 45, time.Since(began).Seconds(), 1)
	})
}

// Pins a stream that was cut because the program worked on a state for longer than a stream may be silent. Comments
// keep a stream.
func TestWatchWaitsForItsProgram(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		states, failed := streams(w, []string{event(1), ": comment\n\n", event(2), event(3)}).Watch(t.Context())
		var seen []int
		for s := range states {
			seen = append(seen, s.Version)
			advance(10 * time.Minute)
		}
		require.NoError(t, failed())
		require.Equal(t, []int{1, 2, 3}, seen)
		require.Equal(t, 1, w.count("/events"))
	})
}
