package sdk_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
)

// scripted is an HTTP server on a real socket, in which a test plays the director.
type scripted struct {
	url string

	mu    sync.Mutex
	paths []string // of the requests, with their queries
}

func serveScript(t *testing.T, handle func(w http.ResponseWriter, r *http.Request)) *scripted {
	s := &scripted{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.paths = append(s.paths, r.URL.RequestURI())
		s.mu.Unlock()
		handle(w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// requests returns the requests whose path ends with suffix, or does not.
func (s *scripted) requests(suffix string, ends bool) (found []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, path := range s.paths {
		if strings.HasSuffix(path, suffix) == ends {
			found = append(found, path)
		}
	}
	return found
}

// watching returns a ticket of a client with short pauses, which no proxy of the environment serves.
func watching(t *testing.T, urls ...string) *sdk.Queued {
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	client := must.Get(sdk.New(sdk.Options{
		URLs: urls, HTTPClient: &http.Client{Transport: transport}, AttemptTimeout: 500 * time.Millisecond,
		FirstBackoff: time.Millisecond, MaxBackoff: time.Millisecond,
	}))(t)
	return sdk.NewPlayer(client, func(context.Context) (string, error) { return "alice", nil }).Queued("t1")
}

// document returns the ticket in a version: the third is assigned.
func document(version int) string {
	state := sdk.QueueQueued
	if version >= 3 {
		state = sdk.QueueAssigned
	}
	raw, _ := json.Marshal(map[string]any{"ticket_id": "t1", "state": state, "version": version})
	return string(raw)
}

func event(version int) string {
	return fmt.Sprintf("id: %d\ndata: %s\n\n", version, document(version))
}

// poll answers a read with version least, and a poll with the version after the one that the caller knows.
func poll(w http.ResponseWriter, r *http.Request, least int) {
	version := least
	if known, err := strconv.Atoi(r.URL.Query().Get("version")); err == nil {
		version = known + 1
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, document(version))
}

func stream(w http.ResponseWriter, text string) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, text)
	_ = http.NewResponseController(w).Flush()
}

func versions(t *testing.T, ticket *sdk.Queued) (seen []int, err error) {
	states, failed := ticket.Watch(t.Context())
	for s := range states {
		seen = append(seen, s.Version)
	}
	return seen, failed()
}

// Pins a Watch that waited without end for the headers of a stream, that ended with an error where a stream was cut
// within an event or was none of the director's, and that delivered no current state where it polled.
func TestWatchPollsWhereStreamsAreUseless(t *testing.T) {
	t.Parallel()
	for name, useless := range map[string]http.HandlerFunc{
		"never answers":       func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"refused by a proxy":  func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>", http.StatusBadGateway) },
		"is no stream":        func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"ends at once":        func(w http.ResponseWriter, _ *http.Request) { stream(w, "") },
		"is cut in an event":  func(w http.ResponseWriter, _ *http.Request) { stream(w, "id: 1\ndata: {\"ticket_id\":") },
		"has another ticket":  func(w http.ResponseWriter, _ *http.Request) { stream(w, strings.Replace(event(1), "t1", "t2", 1)) },
		"has no ticket":       func(w http.ResponseWriter, _ *http.Request) { stream(w, "data: [1]\n\n") },
		"has an endless line": func(w http.ResponseWriter, _ *http.Request) { stream(w, "data: "+strings.Repeat("x", 70<<10)+"\n\n") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			director := serveScript(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/events") {
					useless(w, r)
					return
				}
				poll(w, r, 1)
			})
			seen, err := versions(t, watching(t, director.url))
			require.NoError(t, err)
			require.Equal(t, []int{1, 2, 3}, seen)
			require.Equal(t, []string{"/tickets/t1", "/tickets/t1?version=1&wait=25s", "/tickets/t1?version=2&wait=25s"}, director.requests("/events", false))
			require.Len(t, director.requests("/events", true), 3)
		})
	}
}

// Pins a Watch that hung at a replica whose host accepts connections and serves none, with a working replica beside it.
func TestWatchLeavesASilentReplica(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0") // the kernel accepts, nobody reads
	require.NoError(t, err)
	defer silent.Close()
	director := serveScript(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, event(1)+event(3)) })
	for range 2 { // the first replica is chosen at random
		seen, err := versions(t, watching(t, "http://"+silent.Addr().String(), director.url))
		require.NoError(t, err)
		require.Equal(t, []int{1, 3}, seen)
	}
}

// Pins a Watch that swallowed all polled states after a stream had delivered one.
func TestWatchPollsAfterAStream(t *testing.T) {
	t.Parallel()
	var streams sync.Once
	director := serveScript(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/events") {
			poll(w, r, 1)
			return
		}
		text := ""
		streams.Do(func() { text = event(1) })
		stream(w, text)
	})
	seen, err := versions(t, watching(t, director.url))
	require.NoError(t, err)
	require.Equal(t, []int{1, 2, 3}, seen)
}

// Pins a Watch that, where a stream was useless, was silent about the state in which Queue or Next had left the ticket.
// A final state is known without a request.
func TestWatchBeginsWithTheKnownState(t *testing.T) {
	t.Parallel()
	director := serveScript(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/events") {
			http.Error(w, "", http.StatusServiceUnavailable)
			return
		}
		poll(w, r, 1)
	})
	ticket := watching(t, director.url)
	first, err := ticket.Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, 1, first.Version)
	for _, want := range [][]int{{1, 2, 3}, {3}} {
		seen, err := versions(t, ticket)
		require.NoError(t, err)
		require.Equal(t, want, seen)
	}
	require.Len(t, director.requests("/events", true), 3)
}

// Pins a Watch that polled although each stream, cut by a proxy after some seconds, brought the current state.
func TestWatchKeepsStreamsThatBringStates(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	streams := 0
	director := serveScript(t, func(w http.ResponseWriter, _ *http.Request) {
		mu.Lock()
		streams++
		version := 1 + streams/6*2
		mu.Unlock()
		stream(w, event(version))
	})
	seen, err := versions(t, watching(t, director.url))
	require.NoError(t, err)
	require.Equal(t, []int{1, 3}, seen)
	require.Empty(t, director.requests("/events", false))
}

// Pins a Watch that ended with the first internal error, which docs/players.md says to repeat once.
func TestWatchRepeatsAnInternalErrorOnce(t *testing.T) {
	t.Parallel()
	director := serveScript(t, func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "", http.StatusInternalServerError) })
	seen, err := versions(t, watching(t, director.url))
	require.Empty(t, seen)
	var refusal *sdk.Error
	require.ErrorAs(t, err, &refusal)
	require.Equal(t, http.StatusInternalServerError, refusal.Status)
	require.Len(t, director.requests("/events", true), 2)
}
