package faults

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/stretchr/testify/require"
)

// nextReplica returns the URL of the replica whose turn it is, as a load balancer without health checks does.
func (r *rig) nextReplica() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.turn++
	return r.urls[r.turn%len(r.urls)]
}

func b64(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

// accessToken signs an access token of a player.
func (r *rig) accessToken(sub string) string {
	claims, _ := json.Marshal(map[string]any{"sub": sub, "exp": time.Now().Add(time.Hour).Unix()})
	signed := b64([]byte(`{"alg":"EdDSA","kid":"login","typ":"JWT"}`)) + "." + b64(claims)
	return signed + "." + b64(ed25519.Sign(r.login, []byte(signed)))
}

type fields map[string]any

var errNoAnswer = errors.New("no answer")

// post calls one replica once. Status 0 means that no answer arrived.
func (r *rig) post(url, path string, header http.Header, body fields) (int, fields, error) {
	return r.call(r.t.Context(), http.MethodPost, url+path, header, body)
}

func (r *rig) call(ctx context.Context, method, url string, header http.Header, body fields) (int, fields, error) {
	text, _ := json.Marshal(body)
	req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(text))
	if err != nil {
		return 0, nil, err
	}
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	res, err := r.client.Do(req)
	if err != nil {
		return 0, nil, errors.Join(errNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(res.Body, 1<<20))
	if err != nil {
		return 0, nil, errors.Join(errNoAnswer, err)
	}
	var out fields
	if len(data) > 0 {
		err = json.Unmarshal(data, &out)
	}
	return res.StatusCode, out, err
}

func (r *rig) fleet(path string, body fields) (int, fields, error) {
	return r.post(r.nextReplica(), path, http.Header{"X-Fleet-Token": {fleetToken}}, body)
}

func (r *rig) play(sub, path string, body fields) (int, fields, error) {
	return r.post(r.nextReplica(), path, http.Header{"Authorization": {"Bearer " + r.accessToken(sub)}}, body)
}

// playUntilOK calls one replica after the other until one answers 200, as a client does that retries after 503 and 429.
func (r *rig) playUntilOK(ctx context.Context, sub, path string, body fields) (fields, error) {
	for ctx.Err() == nil {
		status, answer, err := r.play(sub, path, body)
		switch {
		case status == http.StatusOK:
			return answer, nil
		case err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests:
			return nil, fmt.Errorf("%s answered %d: %v", path, status, answer)
		}
		pause(ctx, 20*time.Millisecond)
	}
	return nil, ctx.Err()
}

// pause waits for d, or until ctx ends.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// keepAlive registers instances in region eu and sends their heartbeats until the test ends.
func (r *rig) keepAlive(interval time.Duration, ids ...string) {
	r.t.Helper()
	r.keepAliveIn("eu", interval, ids...)
}

func (r *rig) keepAliveIn(region string, interval time.Duration, ids ...string) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(r.t.Context())
	var wg sync.WaitGroup
	r.t.Cleanup(func() { cancel(); wg.Wait() })
	for _, id := range ids {
		registration := fields{"instance_id": id, "endpoint": id + ":7777", "region": region, "modes": []string{"duel"}, "capacity": 50000, "boot_id": id}
		status, answer, err := r.fleet("/fleet/register", registration)
		require.NoError(r.t, err)
		require.Equal(r.t, http.StatusOK, status, "%v", answer)
		wg.Go(func() {
			for ctx.Err() == nil {
				pause(ctx, interval)
				if status, _, _ := r.fleet("/fleet/heartbeat", fields{"instance_id": id}); status == http.StatusNotFound {
					_, _, _ = r.fleet("/fleet/register", registration)
				}
			}
		})
	}
}
