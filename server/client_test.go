package server_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// answer is the answer to a call.
type answer struct {
	t      *testing.T
	status int
	header http.Header
	body   []byte
}

// call sends a request and reads the answer.
func (b *bundle) call(r *http.Request) answer {
	b.t.Helper()
	res, err := b.client.Do(r)
	require.NoError(b.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(b.t, err)
	return answer{b.t, res.StatusCode, res.Header, body}
}

func (b *bundle) request(method, path string, body any, change ...func(*http.Request)) *http.Request {
	b.t.Helper()
	var content io.Reader
	switch v := body.(type) {
	case nil:
	case string:
		content = bytes.NewBufferString(v)
	case []byte:
		content = bytes.NewReader(v)
	default:
		text, err := json.Marshal(v)
		require.NoError(b.t, err)
		content = bytes.NewReader(text)
	}
	r, err := http.NewRequestWithContext(b.t.Context(), method, "http://"+b.server.Addr().String()+path, content)
	require.NoError(b.t, err)
	if content != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for _, c := range change {
		c(r)
	}
	return r
}

func (b *bundle) get(path string, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodGet, path, nil, change...))
}

func header(name, value string) func(*http.Request) {
	return func(r *http.Request) { r.Header.Set(name, value) }
}

// fields is a JSON object.
type fields map[string]any

func (f fields) with(name string, value any) fields {
	changed := fields{name: value}
	for k, v := range f {
		if k != name {
			changed[k] = v
		}
	}
	return changed
}

// ok requires the status and returns the JSON object of the answer.
func (a answer) ok(status int) fields {
	a.t.Helper()
	require.Equal(a.t, status, a.status, "%s", a.body)
	var f fields
	if len(a.body) > 0 {
		require.NoError(a.t, json.Unmarshal(a.body, &f))
	}
	return f
}

// problem requires a problem document with the status and code, and returns it.
func (a answer) problem(status int, code string) fields {
	a.t.Helper()
	f := a.ok(status)
	require.Equal(a.t, "application/problem+json", a.header.Get("Content-Type"))
	require.Equal(a.t, code, f["code"], "%s", a.body)
	return f
}

// named requires a 400 and returns the fields that it names.
func (a answer) named() (names []string) {
	a.t.Helper()
	f := a.problem(http.StatusBadRequest, "invalid_request")
	for _, e := range f["errors"].([]any) {
		names = append(names, e.(map[string]any)["field"].(string))
	}
	return names
}

// fleet makes a call of a game server.
func (b *bundle) fleet(path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/fleet/"+path, body, append([]func(*http.Request){header("X-Fleet-Token", fleetToken)}, change...)...))
}

// as adds a player's access token to a request.
func (b *bundle) as(sub string) func(*http.Request) {
	return header("Authorization", "Bearer "+b.issuer.token(fields{"sub": sub}))
}

func (b *bundle) matchmake(sub string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/matchmake", body, append([]func(*http.Request){b.as(sub)}, change...)...))
}

func (b *bundle) resolve(sub string, handle any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(http.MethodPost, "/resolve", fields{"session_handle": handle}, append([]func(*http.Request){b.as(sub)}, change...)...))
}

func (b *bundle) session(sub, id string) answer {
	b.t.Helper()
	return b.get("/sessions/"+id, b.as(sub))
}
