package sdk

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A load balancer's error page, or any other body, must become an error with its status, and never a panic.
func FuzzDecodeError(f *testing.F) {
	f.Add(400, []byte(`{"code":"invalid_request","errors":[{"field":"region","detail":"too long"}]}`), "3")
	f.Add(502, []byte(`<html>Bad Gateway</html>`), "Wed, 21 Oct 2026 07:28:00 GMT")
	f.Add(409, []byte(`{"code":7,"errors":{}}`), "-1")
	f.Fuzz(func(t *testing.T, status int, body []byte, after string) {
		resp := &http.Response{StatusCode: status, Header: http.Header{"Retry-After": {after}}}
		err := decodeError(resp, call{method: "POST", path: "/x"}, body)
		var no *Error
		require.ErrorAs(t, err, &no)
		require.Equal(t, status, no.Status)
		require.GreaterOrEqual(t, no.RetryAfter, time.Duration(0))
		require.Contains(t, err.Error(), "POST /x")
	})
}

func TestRetryAfter(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 10, 21, 7, 27, 0, 0, time.UTC)
	for value, want := range map[string]time.Duration{
		"": 0, "0": 0, "7": 7 * time.Second, "-7": 0, "soon": 0, "1.5": 0,
		"Wed, 21 Oct 2026 07:28:00 GMT": time.Minute, "Wed, 21 Oct 2026 07:26:00 GMT": 0,
	} {
		require.Equal(t, want, retryAfter(value, now), value)
	}
}

// A 404 for a wrong path or for a session must not make a server register again.
func TestUnknownInstance(t *testing.T) {
	t.Parallel()
	for code, want := range map[string]bool{"instance_unknown": true, "": true, "not_found": false, "session_unknown": false} {
		err := &Error{Call: "POST /fleet/heartbeat", Status: 404, Code: code}
		require.Equal(t, want, err.Is(ErrUnknownInstance), code)
	}
	require.NotErrorIs(t, &Error{Call: "POST /resolve", Status: 404}, ErrUnknownInstance)
	require.NotErrorIs(t, &Error{Status: 418}, ErrInvalid)
}

func TestServersStarting(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]*int{`{"code":"no_capacity","servers_starting":0}`: new(int), `{"code":"no_capacity"}`: nil} {
		var err *Error
		require.ErrorAs(t, decodeError(&http.Response{StatusCode: http.StatusConflict}, call{}, []byte(body)), &err)
		require.ErrorIs(t, err, ErrNoCapacity)
		require.Equal(t, want, err.ServersStarting)
	}
}
