package rigtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// URLs returns the addresses of the replicas that callers know.
func (r *Rig) URLs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.urls)
}

// SetURLs replaces the replicas that callers know.
func (r *Rig) SetURLs(urls ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.urls = urls
}

// NextReplica returns the URL of the replica whose turn it is, as a load balancer without health checks does.
func (r *Rig) NextReplica() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	return r.urls[r.turn%len(r.urls)]
}

// Fields is a JSON object.
type Fields map[string]any

// ErrNoAnswer says that a call got no answer: it may have succeeded.
var ErrNoAnswer = errors.New("no answer")

// Post is Call with POST.
func (r *Rig) Post(url, path string, header http.Header, body Fields) (int, Fields, error) {
	return r.Call(r.T.Context(), http.MethodPost, url+path, header, body)
}

// Call calls one replica once. Status 0 means that no answer arrived.
func (r *Rig) Call(ctx context.Context, method, url string, header http.Header, body Fields) (int, Fields, error) {
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	res, err := r.Client.Do(req)
	if err != nil {
		return 0, nil, errors.Join(ErrNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, nil, errors.Join(ErrNoAnswer, err)
	}
	var out Fields
	if len(data) > 0 {
		err = json.Unmarshal(data, &out)
	}
	return res.StatusCode, out, err
}

// Fleet calls the next replica once, as a game server.
func (r *Rig) Fleet(path string, body Fields) (int, Fields, error) {
	return r.Post(r.NextReplica(), path, http.Header{"X-Fleet-Token": {FleetToken}}, body)
}

// As returns the headers of a player's calls.
func (r *Rig) As(sub string) http.Header {
	return http.Header{"Authorization": {"Bearer " + r.Login.AccessToken(sub)}}
}

// Play calls the next replica once, as a player.
func (r *Rig) Play(sub, path string, body Fields) (int, Fields, error) {
	return r.Post(r.NextReplica(), path, r.As(sub), body)
}

// PlayUntilOK calls one replica after the other until one answers 200, as a client does that retries after 503 and 429.
func (r *Rig) PlayUntilOK(ctx context.Context, sub, path string, body Fields) (Fields, error) {
	for ctx.Err() == nil {
		status, answer, err := r.Play(sub, path, body)
		switch {
		case status == http.StatusOK:
			return answer, nil
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return nil, fmt.Errorf("%s answered %d: %v", path, status, answer)
		}
		Pause(ctx, 20*time.Millisecond)
	}
	return nil, ctx.Err()
}

// Each takes n turns, numbered from 0, as so many callers that take the next one when they have done one.
func Each(n, callers int, take func(turn int)) {
	turns := make(chan int)
	var running sync.WaitGroup
	for range callers {
		running.Go(func() {
			for turn := range turns {
				take(turn)
			}
		})
	}
	for turn := range n {
		turns <- turn
	}
	close(turns)
	running.Wait()
}

// Pause waits for d, or until ctx ends.
func Pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// KeepAlive registers instances in region eu and sends their heartbeats until the test ends.
func (r *Rig) KeepAlive(interval time.Duration, ids ...string) {
	r.T.Helper()
	r.KeepAliveIn("eu", interval, ids...)
}

// KeepAliveIn is KeepAlive for another region.
func (r *Rig) KeepAliveIn(region string, interval time.Duration, ids ...string) {
	r.T.Helper()
	ctx, cancel := context.WithCancel(r.T.Context())
	var wg sync.WaitGroup
	r.T.Cleanup(func() { cancel(); wg.Wait() })
	for _, id := range ids {
		registration := Fields{"instance_id": id, "endpoint": id + ":7777", "region": region, "modes": []string{"duel"},
			"capacity": 50000, "boot_id": id}
		status, answer, err := r.Fleet("/fleet/register", registration)
		require.NoError(r.T, err)
		require.Equal(r.T, http.StatusOK, status, "%v", answer)
		wg.Go(func() {
			for ctx.Err() == nil {
				Pause(ctx, interval)
				if status, _, _ := r.Fleet("/fleet/heartbeat",
					Fields{"instance_id": id}); status == http.StatusNotFound {
					_, _, _ = r.Fleet("/fleet/register", registration)
				}
			}
		})
	}
}
