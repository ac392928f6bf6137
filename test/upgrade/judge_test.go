package upgrade

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// judge is what callers send their requests through. It counts the answers after which docs/players.md and
// docs/game-servers.md promise that the same request succeeds, and records all other failures. Safe for concurrent use.
type judge struct {
	transport http.RoundTripper

	mu       sync.Mutex
	calls    int
	retries  map[string]int // how often a call has to be repeated, by the reason
	failures []string       // the first 20
}

func newJudge() *judge {
	return &judge{transport: &http.Transport{MaxIdleConnsPerHost: 64}, retries: map[string]int{}}
}

// repeatableCodes are the codes of 503 after which a client sends the same request again.
var repeatableCodes = []string{"unavailable", "draining", "room_pending"}

// tooLateCodes are the codes of 409 that answer a cancel of a ticket that is in a match.
var tooLateCodes = []string{"assigned", "matched"}

// RoundTrip implements http.RoundTripper.
func (j *judge) RoundTrip(req *http.Request) (*http.Response, error) {
	res, err := j.transport.RoundTrip(req)
	switch {
	case req.Context().Err() != nil && errors.Is(err, req.Context().Err()):
		return res, err // the caller has gone; whether that is a failure is for the caller to say
	case err != nil:
		j.count("no answer")
		return res, err
	case res.StatusCode < http.StatusBadRequest:
		j.count("")
		return res, nil
	}
	body, err := io.ReadAll(io.LimitReader(res.Body, 64<<10))
	_ = res.Body.Close()
	res.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		j.count("no answer")
		return nil, err
	}
	var problem struct {
		Code string `json:"code"`
	}
	_ = json.Unmarshal(body, &problem)
	switch {
	case res.StatusCode == http.StatusServiceUnavailable && slices.Contains(repeatableCodes, problem.Code):
		j.count(problem.Code)
	case req.Method == http.MethodDelete && slices.Contains(tooLateCodes, problem.Code):
		j.count("")
	default:
		j.failf("%s %s answered %d: %s", req.Method, req.URL.Path, res.StatusCode, body)
	}
	return res, nil
}

// count counts an answer, with the reason for a retry if there is one.
func (j *judge) count(retry string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls++
	if retry != "" {
		j.retries[retry]++
	}
}

// failf records a failure that no documented retry mends.
func (j *judge) failf(format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if len(j.failures) < 20 {
		j.failures = append(j.failures, fmt.Sprintf(format, args...))
	}
}

// firstFailures returns the first failures.
func (j *judge) firstFailures() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.failures)
}

func (j *judge) String() string {
	j.mu.Lock()
	defer j.mu.Unlock()
	var retries []string
	for _, reason := range slices.Sorted(maps.Keys(j.retries)) {
		retries = append(retries, fmt.Sprintf("%d %s", j.retries[reason], reason))
	}
	return fmt.Sprintf("%d calls; retried after: %s", j.calls, strings.Join(retries, ", "))
}

// An answer that no documentation promises a retry for is a failure, and others are not.
func TestTheJudge(t *testing.T) {
	t.Parallel()
	problem := func(status int, code string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = fmt.Fprintf(w, `{"code":%q}`, code)
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		fails  bool
	}{
		"answered":    {problem(http.StatusOK, ""), false},
		"draining":    {problem(http.StatusServiceUnavailable, "draining"), false},
		"unavailable": {problem(http.StatusServiceUnavailable, "unavailable"), false},
		"reset":       {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, false},
		"other 503":   {problem(http.StatusServiceUnavailable, "surprise"), true},
		"internal":    {problem(http.StatusInternalServerError, "internal"), true},
		"no capacity": {problem(http.StatusConflict, "no_capacity"), true},
		"gone":        {problem(http.StatusGone, "session_closed"), true},
		"unknown":     {problem(http.StatusNotFound, "session_unknown"), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			srv := httptest.NewServer(c.answer)
			defer srv.Close()
			j := newJudge()
			res, err := (&http.Client{Transport: j}).Get(srv.URL)
			if err == nil {
				_, _ = io.Copy(io.Discard, res.Body)
				_ = res.Body.Close()
			}
			require.Equal(t, c.fails, len(j.firstFailures()) > 0, "%v", j)
		})
	}
}
