package server_test

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
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
	a := webtest.Send(b.t, b.client, r)
	return answer{b.t, a.Status, a.Header, []byte(a.Body)}
}

func (b *bundle) request(method, path string, body any, change ...func(*http.Request)) *http.Request {
	b.t.Helper()
	r := webtest.Request(b.t, method, "http://"+b.server.Addr().String()+path, body)
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
	return header("Authorization", "Bearer "+b.issuer.Token(fields{"sub": sub}))
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

// claimsOf reads a token without verifying it.
func claimsOf(t *testing.T, raw string) (claims fields) {
	t.Helper()
	payload := must.Get(base64.RawURLEncoding.DecodeString(strings.Split(raw, ".")[1]))(t)
	require.NoError(t, json.Unmarshal(payload, &claims))
	return claims
}
