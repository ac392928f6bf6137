package rigtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/background"
	"github.com/lattice-director/director/sdk"
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

// NextReplica returns the URL of another replica at each call, in turn, as a load balancer without health checks does.
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

// PostJSON is CallJSON with POST.
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
	req.Header.Set("Content-Type", "application/json")
	maps.Copy(req.Header, header)
	res, err := r.HTTPClient.Do(req)
	if err != nil {
		return 0, nil, errors.Join(ErrNoAnswer, err)
	}
	defer func() { _ = res.Body.Close() }()
	// A replica that is killed may have sent the status, and not the answer.
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

// RequireOK returns the answer of a call, which has to be 200: RequireOK(r.PostPlay(…)).
func (r *Rig) RequireOK(status int, answer Fields, err error) Fields {
	r.T.Helper()
	return r.RequireStatus(http.StatusOK)(status, answer, err)
}

// RequireStatus is RequireOK for another status: RequireStatus(http.StatusGone)(r.PostPlay(…)).
func (r *Rig) RequireStatus(want int) func(status int, answer Fields, err error) Fields {
	return func(status int, answer Fields, err error) Fields {
		r.T.Helper()
		require.NoError(r.T, err)
		require.Equal(r.T, want, status, "%v", answer)
		return answer
	}
}

// QueueFor queues a player by a profile, and returns the ticket's id.
func (r *Rig) QueueFor(sub, profile string) (ticket string) {
	r.T.Helper()
	answer := r.RequireStatus(http.StatusCreated)(r.PostPlay(sub, "/tickets", Fields{"profiles": []string{profile}}))
	return answer["ticket_id"].(string)
}

// PlayUntilDone calls one replica after the other until one answers 200 or 201, as a client does that retries after 503
// and 429. It returns nil when ctx ends before, and after another answer, which fails the test.
func (r *Rig) PlayUntilDone(ctx context.Context, sub, path string, body Fields) Fields {
	for ctx.Err() == nil {
		status, answer, err := r.PostPlay(sub, path, body)
		if status == http.StatusOK || status == http.StatusCreated {
			return answer
		}
		// A caller does not repeat what was refused for good.
		if err == nil && status != http.StatusServiceUnavailable && status != http.StatusTooManyRequests {
			// Not fatal, since callers run in goroutines of their own.
			r.T.Errorf("%s of %s answered %d: %v", path, sub, status, answer)
			return nil
		}
		PauseFor(ctx, 20*time.Millisecond)
	}
	return nil
}

// NewPlayer returns a player who calls with a client of the SDK.
func (r *Rig) NewPlayer(client *sdk.Client, sub string) *sdk.Player {
	return sdk.NewPlayer(client, func(context.Context) (string, error) { return r.PlayerLogin.AccessToken(sub), nil })
}

// Each takes n turns, numbered from 0, by so many callers side by side: each takes the next turn when it has ended one.
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

// KeepAlive registers instances in region eu and sends their heartbeats until the test ends, or stop is called.
func (r *Rig) KeepAlive(interval time.Duration, ids ...string) (stop func()) {
	r.T.Helper()
	return r.KeepAliveIn("eu", interval, ids...)
}

// KeepAliveIn is KeepAlive for another region.
func (r *Rig) KeepAliveIn(region string, interval time.Duration, ids ...string) (stop func()) {
	r.T.Helper()
	var beats []func(context.Context)
	for _, id := range ids {
		registration := Fields{"instance_id": id, "endpoint": id + ":7777", "region": region, "modes": []string{"duel"},
			"capacity": 50000, "boot_id": id}
		r.RequireOK(r.PostFleet("/fleet/register", registration))
		beats = append(beats, func(ctx context.Context) {
			for ctx.Err() == nil {
				PauseFor(ctx, interval)
				status, _, _ := r.PostFleet("/fleet/heartbeat", Fields{"instance_id": id})
				// The lease has expired during a fault: the instance registers again, as a game server does.
				if status == http.StatusNotFound {
					_, _, _ = r.PostFleet("/fleet/register", registration)
				}
			}
		})
	}
	return background.Loop(r.T, beats...)
}
