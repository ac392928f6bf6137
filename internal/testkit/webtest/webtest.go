// Package webtest makes HTTP calls and connections for tests, and fails the test where one gets no answer.
package webtest

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Listen listens on a free port of this machine. The caller closes it, or what serves on it.
func Listen(t testing.TB) net.Listener {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	return l
}

// Request makes a request that ends with the test. The body is nil, a text, bytes, or a value that becomes JSON. With a
// body, the media type is that of JSON unless the headers, which are pairs of name and value, have another one.
func Request(t testing.TB, method, url string, body any, headers ...string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, bodyReader(t, body))
	require.NoError(t, err)
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	return r
}

func bodyReader(t testing.TB, body any) io.Reader {
	t.Helper()
	switch v := body.(type) {
	case nil:
		return nil
	case string:
		return bytes.NewBufferString(v)
	case []byte:
		return bytes.NewReader(v)
	}
	text, err := json.Marshal(body)
	require.NoError(t, err)
	return bytes.NewReader(text)
}

// Answer is an answer whose body was read.
type Answer struct {
	Status int
	Header http.Header
	Body   string
}

// Send sends a request and reads its answer.
func Send(t testing.TB, client *http.Client, r *http.Request) Answer {
	t.Helper()
	res, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return Answer{res.StatusCode, res.Header, string(body)}
}

// Decode returns the value whose JSON is the answer's body; the zero value without a body.
func Decode[V any](t testing.TB, a Answer) (v V) {
	t.Helper()
	if a.Body != "" {
		require.NoError(t, json.Unmarshal([]byte(a.Body), &v), "%s", a.Body)
	}
	return v
}
