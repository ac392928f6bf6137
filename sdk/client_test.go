package sdk_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/sdk/sdktest"
)

var replicas = []string{"http://a.example", "http://b.example"}

// bubble runs a test with a virtual clock and a wire to a director in memory.
func bubble(t *testing.T, test func(t *testing.T, w *wire)) {
	_, err := contract() // Read outside the bubble, because all bubbles share it.
	require.NoError(t, err)
	synctest.Test(t, func(t *testing.T) { test(t, newWire(t, sdktest.Options{})) })
}

func session(c *sdk.Client) error {
	_, err := sdk.NewPlayer(c, func(context.Context) (string, error) { return "alice", nil }).Session(context.Background(), "eu.x")
	return err
}

// A dead replica must cost no time, and must not be tried again with every call.
func TestFailoverIsImmediateAndRemembered(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(func(x exchange, _ func() *http.Response) (*http.Response, error) {
			if x.host == "a.example" {
				return nil, errCut
			}
			return nil, errNoFault
		})
		c, start := w.client(replicas...), time.Now()
		for range 10 {
			require.ErrorIs(t, session(c), sdk.ErrNotFound)
		}
		require.Zero(t, time.Since(start))
		require.Len(t, w.to("/sessions/eu.x"), 11, "the dead one is tried once")
		advance(time.Minute)
		w.inject(nil)
		for range 2 {
			require.ErrorIs(t, session(c), sdk.ErrNotFound)
		}
		hosts := w.to("/sessions/eu.x")[11:]
		require.NotEqual(t, hosts[0].host, hosts[1].host, "used again after its cooldown")
	})
}

// A replica that shuts down answers "draining". The client tries the next one at once, without the pause that it asks
// for.
func TestDrainingReplicaIsLeftAtOnce(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(once(answer(503, "draining", "Retry-After", "9")))
		start := time.Now()
		require.ErrorIs(t, session(w.client(replicas...)), sdk.ErrNotFound)
		require.Zero(t, time.Since(start))
	})
}

// The client waits at least as long as Retry-After says, plus jitter, so that many clients do not retry together.
func TestRetryAfterIsHonouredWithJitter(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		pauses := map[time.Duration]bool{}
		for _, status := range []int{408, 429, 503, 503} {
			w.inject(once(answer(status, "unavailable", "Retry-After", "7")))
			start := time.Now()
			require.ErrorIs(t, session(w.client()), sdk.ErrNotFound)
			pause := time.Since(start)
			require.Greater(t, pause, 7*time.Second)
			require.Less(t, pause, 8*time.Second)
			pauses[pause] = true
		}
		require.Len(t, pauses, 4)
	})
}

// A Retry-After of a year, from a misconfigured proxy, must not stop a game server's heartbeats.
func TestRetryAfterIsCapped(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(once(answer(503, "", "Retry-After", "31536000")))
		start := time.Now()
		require.ErrorIs(t, session(w.client()), sdk.ErrNotFound)
		require.Less(t, time.Since(start), 2*time.Minute)
	})
}

// An unresponsive replica (SIGSTOP, lost packets) must cost one attempt's timeout, not the caller's whole context.
func TestFrozenReplica(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(frozen("a.example"))
		start := time.Now()
		c := w.client(replicas...)
		for range 2 {
			require.ErrorIs(t, session(c), sdk.ErrNotFound)
		}
		require.Equal(t, 5*time.Second, time.Since(start))
	})
}

func TestContextEndsTheRetriesAndKeepsTheReason(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(cut)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		_, err := w.player("alice").Matchmake(ctx, duel)
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, sdk.ErrUnavailable)
		require.ErrorIs(t, err, errCut)
		tries := w.count("/matchmake")
		require.Greater(t, tries, 6)
		require.Less(t, tries, 40, "the pauses grow")
	})
}

// A refusal that a retry cannot change is returned at once.
func TestRefusalsAreNotRepeated(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		for status, kind := range map[int]error{
			400: sdk.ErrInvalid, 401: sdk.ErrUnauthorized, 403: sdk.ErrForbidden, 404: sdk.ErrNotFound,
			410: sdk.ErrGone, 413: sdk.ErrInvalid, 415: sdk.ErrInvalid, 422: sdk.ErrInvalid, 500: nil,
		} {
			before := w.count("")
			w.inject(answer(status, "some_code", "X-Request-Id", "r1"))
			err := session(w.client())
			if kind != nil {
				require.ErrorIs(t, err, kind)
			}
			var no *sdk.Error
			require.ErrorAs(t, err, &no)
			require.Equal(t, sdk.Error{Call: "GET /sessions/eu.x", Status: status, Code: "some_code", Detail: "on purpose", RequestID: "r1"}, *no)
			require.Equal(t, before+1, w.count(""))
		}
	})
}

// The fleet token is a header that net/http would send on to the target of a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(answer(307, "", "Location", "http://thief.example/fleet/register"))
		_, err := sdk.Start(t.Context(), w.client(), sdk.ServerOptions{InstanceID: "a", FleetToken: "secret"})
		require.ErrorContains(t, err, "307")
		require.Equal(t, 1, w.count(""))
	})
}

// An endless answer must not exhaust the memory.
func TestAnswersAreBounded(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		endless := &endlessBody{}
		w.inject(once(func(exchange, func() *http.Response) (*http.Response, error) {
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(endless)}, nil
		}))
		require.ErrorIs(t, session(w.client()), sdk.ErrNotFound)
		require.Less(t, endless.read, 3<<20)
	})
}

type endlessBody struct{ read int }

func (b *endlessBody) Read(p []byte) (int, error) {
	b.read += len(p)
	return len(p), nil
}

func TestURLs(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "director:8080", "ftp://director", "http://", "http://x/?a=1", "http://x/#f", "::"} {
		_, err := sdk.New(sdk.Options{URLs: []string{bad}})
		require.Error(t, err, bad)
	}
	_, err := sdk.New(sdk.Options{})
	require.Error(t, err)
	_, err = sdk.New(sdk.Options{URLs: []string{"http://user:secret@x/#f"}})
	require.NotContains(t, err.Error(), "secret")
}

// A URL may have a path prefix and a trailing slash.
func TestURLPrefix(t *testing.T) {
	t.Parallel()
	bubble(t, func(t *testing.T, w *wire) {
		w.inject(answer(404, "session_unknown"))
		require.ErrorIs(t, session(w.client("http://x.example/director/")), sdk.ErrNotFound)
		require.Equal(t, "/director/sessions/eu.x", w.to("")[0].path)
	})
}

func frozen(host string) fault {
	return func(x exchange, _ func() *http.Response) (*http.Response, error) {
		if !strings.HasPrefix(x.host, host) {
			return nil, errNoFault
		}
		<-x.done
		return nil, context.DeadlineExceeded
	}
}
