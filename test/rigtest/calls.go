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

// ReplicaURLs returns the addresses of the replicas that callers know.
func (r *Rig) ReplicaURLs() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.knownURLs)
}

// SetURLs replaces the replicas that callers know.
func (r *Rig) SetURLs(urls ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.knownURLs = urls
}

// NextReplica returns the URL of the replica whose turn it is, as a load balancer without health checks does.
func (r *Rig) NextReplica() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nextTurn++
	return r.knownURLs[r.nextTurn%len(r.knownURLs)]
}

// Fields is a JSON object.
type Fields map[string]any

// ErrNoAnswer says that a call got no answer: it may have succeeded.
var ErrNoAnswer = errors.New("no answer")

// PostJSON is Call with POST.
func (r *Rig) PostJSON(url, path string, header http.Header, body Fields) (int, Fields, error) {
	return r.CallJSON(r.T.Context(), http.MethodPost, url+path, header, body)
}

// CallJSON calls one replica once. Status 0 means that no answer arrived.
func (r *Rig) CallJSON(ctx context.Context, method, url string, header http.Header, body Fields) (int, Fields, error) {
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	res, err := r.HTTPClient.Do(req)
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

// PostFleet calls the next replica once, as a game server.
func (r *Rig) PostFleet(path string, body Fields) (int, Fields, error) {
	return r.PostJSON(r.NextReplica(), path, http.Header{"X-Fleet-Token": {FleetToken}}, body)
}

// HeaderOf returns the headers of a player's calls.
func (r *Rig) HeaderOf(sub string) http.Header {
	return http.Header{"Authorization": {"Bearer " + r.PlayerLogin.AccessToken(sub)}}
}

// PostPlay calls the next replica once, as a player.
func (r *Rig) PostPlay(sub, path string, body Fields) (int, Fields, error) {
	return r.PostJSON(r.NextReplica(), path, r.HeaderOf(sub), body)
}

// PlayUntilOK calls one replica after the other until one answers 200, as a client does that retries after 503 and 429.
func (r *Rig) PlayUntilOK(ctx context.Context, sub, path string, body Fields) (Fields, error) {
	for ctx.Err() == nil {
		status, answer, err := r.PostPlay(sub, path, body)
		switch {
		case status == http.StatusOK:
			return answer, nil
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return nil, fmt.Errorf("%s answered %d: %v", path, status, answer)
		}
		PauseFor(ctx, 20*time.Millisecond)
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

// PauseFor waits for d, or until ctx ends.
func PauseFor(ctx context.Context, d time.Duration) {
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
		status, answer, err := r.PostFleet("/fleet/register", registration)
		require.NoError(r.T, err)
		require.Equal(r.T, http.StatusOK, status, "%v", answer)
		wg.Go(func() {
			for ctx.Err() == nil {
				PauseFor(ctx, interval)
				if status, _, _ := r.PostFleet("/fleet/heartbeat",
					Fields{"instance_id": id}); status == http.StatusNotFound {
					_, _, _ = r.PostFleet("/fleet/register", registration)
				}
			}
		})
	}
}
