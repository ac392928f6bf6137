package bevygap

import (
	"context"
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/db"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server/rest"
)

// call makes a call without a body.
func (b *bundle) call(method, path string, headers ...string) webtest.Answer {
	b.t.Helper()
	return webtest.Send(b.t, http.DefaultClient, webtest.Request(b.t, method, "http://"+b.url+path, nil, headers...))
}

func TestAStreamHasTheSameFrames(t *testing.T) {
	t.Parallel()
	b := setup(t)
	go func() {
		for waits := false; !waits; <-time.After(5 * time.Millisecond) {
			b.change(func() { waits = len(b.demand) == 1 })
		}
		b.open(1)
	}()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+b.url+"/matchmaker/request/my%20game/1.0",
		strings.NewReader(`{"unused":true}`))
	require.NoError(t, err)
	answer, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer answer.Body.Close()
	require.Equal(t, http.StatusOK, answer.StatusCode)
	require.Equal(t, "application/json", answer.Header.Get("Content-Type"))
	require.Equal(t, []string{"chunked"}, answer.TransferEncoding)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Regexp(t, `^"Acknowledged"{"SessionRequestAccepted":"[0-9a-f]{32}"}({"ProgressReport":"waiting for a server"})+`+readyFrame+`$`, string(text))
}

// slowStore answers when the caller has left.
type slowStore struct {
	*world

	called chan struct{}
}

func (s slowStore) Offers(ctx context.Context) ([]db.Offer, error) {
	s.called <- struct{}{}
	<-ctx.Done()
	return nil, ctx.Err()
}

// Pins an ERROR for a client that leaves while the database is asked for it, and a failed login for one that leaves
// while its token is verified.
func TestAClientThatLeavesIsNoError(t *testing.T) {
	t.Parallel()
	called := make(chan struct{}, 1)
	verify := func(ctx context.Context, _ string) (string, error) {
		called <- struct{}{}
		<-ctx.Done()
		return "", ctx.Err()
	}
	failures := rest.NewLimiter(rest.Rate{PerSecond: 1e-6, Burst: 1})
	b := setup(t, func(o *Options) {
		o.Store, o.VerifyToken, o.FailureLimiter = slowStore{o.Store.(*world), called}, verify, failures
	})
	for _, query := range []string{"", "?access_token=x"} {
		ctx, leave := context.WithCancel(t.Context())
		r, err := http.NewRequestWithContext(ctx, http.MethodPost,
			"http://"+b.url+"/matchmaker/request/my%20game/1.0"+query, http.NoBody)
		require.NoError(t, err)
		go func() { <-called; leave() }()
		response, err := http.DefaultClient.Do(r)
		if err == nil {
			_, err = io.Copy(io.Discard, response.Body)
			_ = response.Body.Close()
		}
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Eventually(t, func() bool { return strings.Count(b.log.String(), `"outcome":"left"`) == 2 }, 20*time.Second, 5*time.Millisecond)
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)
	require.Zero(t, failures.Take("127.0.0.1"), "no failure of the address")
}

func TestAStreamEndsWithItsError(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, `"Acknowledged"{"Error":[404,"there is no version \"7\" of a game \"my game\""]}`,
		b.call(http.MethodPost, "/matchmaker/request/my%20game/7").Body)
	requireFrame(t, `{"Error":[400,"game and version must be 1 to 64 letters, digits, spaces, dots, underscores and hyphens"]}`,
		b.call(http.MethodPost, "/matchmaker/request/my+game/7").Body)
}

func TestACallerThatLeavesTakesItsDemandAlong(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for _, path := range []string{"/matchmaker/request/my%20game/1.0", "/matchmaker/wannaplay"} {
		b.face.options.DefaultGame, b.face.options.DefaultVersion = "my game", "1.0"
		ctx, leave := context.WithCancel(t.Context())
		left := make(chan struct{})
		go func() {
			defer close(left)
			r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.url+path, strings.NewReader("a body"))
			if response, err := http.DefaultClient.Do(r); err == nil {
				_, _ = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
		}()
		b.await(t, "it waits", func() bool { return len(b.demand) == 1 })
		leave()
		b.await(t, "its demand is gone", func() bool { return len(b.demand) == 0 })
		<-left
	}
}

func TestWannaplay(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.DefaultGame, o.DefaultVersion, o.WaitLimit = "my game", "1.0", time.Second })
	late := b.call(http.MethodPost, "/matchmaker/wannaplay")
	require.Equal(t, http.StatusRequestTimeout, late.Status)
	require.Equal(t, "text/plain; charset=utf-8", late.Header.Get("Content-Type"))
	require.Equal(t, "no server could host you within 1s", late.Body)
	b.open(1)
	response := b.call(http.MethodPost, "/matchmaker/wannaplay?client_ip=")
	require.Equal(t, http.StatusOK, response.Status)
	require.Equal(t, "text/json", response.Header.Get("Content-Type"))
	require.Equal(t, `{"connect_token":"`+base64.StdEncoding.EncodeToString(tokenOfTests)+`","gameserver_ip":"192.0.2.7","gameserver_port":31504,"cert_digest":"0a:1b:2c"}`,
		response.Body)
}

// Pins a 429 that does not say when to ask again.
func TestWannaplaySaysWhenToAskAgain(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.DefaultGame, o.DefaultVersion, o.PerAddress = "my game", "1.0", 1 })
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan struct{})
	go func() {
		defer close(left)
		r, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+b.url+"/matchmaker/wannaplay", http.NoBody)
		if response, err := http.DefaultClient.Do(r); err == nil {
			_ = response.Body.Close()
		}
	}()
	b.await(t, "it waits", func() bool { return len(b.demand) == 1 })
	refused := b.call(http.MethodPost, "/matchmaker/wannaplay")
	leave()
	<-left
	require.Equal(t, http.StatusTooManyRequests, refused.Status, refused.Body)
	require.Equal(t, "text/plain; charset=utf-8", refused.Header.Get("Content-Type"))
	require.Equal(t, "1", refused.Header.Get("Retry-After"))
}

func TestWannaplayWithoutADefault(t *testing.T) {
	t.Parallel()
	b := setup(t)
	response := b.call(http.MethodPost, "/matchmaker/wannaplay")
	require.Equal(t, http.StatusNotFound, response.Status)
	require.Equal(t, "this path names no game, and no default is set", response.Body)
}

func TestPages(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, status := range map[string]int{"/matchmaker": http.StatusOK,
		"/matchmaker/ws": http.StatusUpgradeRequired} {
		require.Equal(t, status, b.call(http.MethodGet, path).Status, path)
	}
}
