package faults

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
)

// deliveryGap bounds how long a webhook waits when the worker that delivers dies or freezes: the lease of 5 s, a second
// until another worker looks for free webhooks, and one for its first request.
const deliveryGap = 7 * time.Second

// subscriber is an endpoint that remembers what it got, by the id of the request.
type subscriber struct {
	mu      sync.Mutex
	ids     map[string]int   // the number of the event, by the id of the request
	numbers map[string][]int // the numbers of the events of a session, in the order of their first requests
	last    time.Time        // when the last request arrived
	longest time.Duration    // the longest time between two requests
	repeats int              // requests with an id that was known
}

func (s *subscriber) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	var body struct {
		Data struct {
			Session string         `json:"session"`
			Detail  map[string]int `json:"detail"`
		} `json:"data"`
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.last.IsZero() {
		s.longest = max(s.longest, time.Since(s.last))
	}
	s.last = time.Now()
	id := r.Header.Get("Webhook-Id")
	if _, known := s.ids[id]; known {
		s.repeats++
		return
	}
	n := body.Data.Detail["n"]
	s.ids[id] = n
	s.numbers[body.Data.Session] = append(s.numbers[body.Data.Session], n)
}

func (s *subscriber) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.ids)
}

// Pins an event that is lost, doubled under another id or out of its session's order, and a webhook that waits for
// long, when the worker that delivers is killed, or frozen for longer than its lease.
func TestWebhooksOutliveTheirWorkers(t *testing.T) {
	t.Parallel()
	r := newRig(t, "DIRECTOR_WEBHOOK_HOSTS=127.0.0.1")
	got := &subscriber{ids: map[string]int{}, numbers: map[string][]int{}}
	endpoint := httptest.NewServer(got)
	t.Cleanup(endpoint.Close)
	r.RunCommand("webhooks", "create", "studio", endpoint.URL+"/hook", "--kinds", "session.closed")
	workers := []*process{r.StartProcess("work"), r.StartProcess("work")} // one of the two delivers

	written := 0
	writeFor := func(d time.Duration) {
		for end := time.Now().Add(d); time.Now().Before(end); written++ {
			_, err := r.SQLPool.Exec(t.Context(), `INSERT INTO events (region, kind, session_id, detail) VALUES ('eu', 'session.closed', $1, $2)`,
				uuid.UUID{15: byte(written % 5)}, fmt.Sprintf(`{"n": %d}`, written))
			require.NoError(t, err)
			pause(t.Context(), 10*time.Millisecond)
		}
	}
	writeFor(time.Second)
	require.Eventually(t, func() bool { return got.count() > 0 }, 30*time.Second, 10*time.Millisecond,
		"nothing is delivered")
	for turn, worker := range workers {
		writeFor(time.Second)
		worker.Process.Kill()
		workers[turn] = r.StartProcess("work")
	}
	for _, worker := range workers {
		writeFor(time.Second)
		require.NoError(t, worker.Process.Signal(syscall.SIGSTOP))
		writeFor(deliveryGap) // longer than the lease
		require.NoError(t, worker.Process.Signal(syscall.SIGCONT))
	}
	writeFor(time.Second)
	require.Eventually(t, func() bool { return got.count() >= written }, time.Minute, 10*time.Millisecond,
		"events are lost")

	got.mu.Lock()
	defer got.mu.Unlock()
	t.Logf("%d events, %d requests repeated, the longest pause %s", len(got.ids), got.repeats, got.longest)
	require.Len(t, got.ids, written)
	for session, numbers := range got.numbers {
		require.IsIncreasing(t, numbers, session)
	}
	require.Less(t, got.longest, deliveryGap)
}
