package token

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
)

func TestNewKeySourceDistinguishesTextFileAndURL(t *testing.T) {
	t.Parallel()
	for _, good := range []string{
		string(keysNamed("a").JSON), "  " + string(keysNamed("a").JSON) + "\n", "/etc/keys.json", "keys.json",
		"https://id.example/jwks", "http://localhost:1/jwks", "http://127.0.0.1/jwks", "http://[::1]:80/jwks",
	} {
		_, err := NewKeySource(good, SourceOptions{})
		require.NoError(t, err, good)
	}
	for _, bad := range []string{
		"", " ", "{", "{}", `{"keys":[]}`, `{"keys":[{"kty":"oct","k":"c2VjcmV0"}]}`, "http://id.example/jwks", "http://10.0.0.1/jwks",
		"http://localhost.evil.example/", "ftp://localhost/jwks", "file:///etc/keys.json", "https://", "https://%zz/",
	} {
		_, err := NewKeySource(bad, SourceOptions{})
		require.Error(t, err, bad)
	}
	_, err := NewKeySource("http://director:8080/.well-known/jwks.json", SourceOptions{PlainHTTP: true})
	require.NoError(t, err)
	_, err = NewKeySource("ftp://director/", SourceOptions{PlainHTTP: true})
	require.Error(t, err)
	_, err = NewKeySource("http://user:s3cret@id.example/jwks?key=s3cret", SourceOptions{})
	require.NotContains(t, err.Error(), "s3cret")
}

func TestTextSource(t *testing.T) {
	t.Parallel()
	now := newClock()
	s, err := NewKeySource(string(keysNamed("a").JSON), SourceOptions{Now: now.Now})
	require.NoError(t, err)
	require.True(t, has(t, s, "a"))
	now.Add(200 * 365 * 24 * time.Hour)
	require.True(t, has(t, s, "a"))
}

// A changed file is read again, also after the rename by which Kubernetes updates mounted secrets. A half-written file
// does not replace the last good set.
func TestFileSource(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "jwks.json")
	write := func(text []byte) { require.NoError(t, os.WriteFile(path, text, 0o600)) }
	now := newClock()
	s, err := NewKeySource(path, SourceOptions{Now: now.Now})
	require.NoError(t, err)
	_, err = s.Keys(context.Background())
	require.ErrorIs(t, err, ErrKeysUnavailable)
	require.ErrorIs(t, err, os.ErrNotExist)

	step := func() { now.Add(10 * time.Second) }
	step()
	write(keysNamed("a").JSON)
	require.True(t, has(t, s, "a"))
	step()
	write(keysNamed("b").JSON)
	require.True(t, has(t, s, "b"), "same length, possibly the same modification time")
	step()
	write(keysNamed("c").JSON[:20])
	require.True(t, has(t, s, "b"))
	require.Error(t, s.Err())
	next := path + ".new"
	require.NoError(t, os.WriteFile(next, keysNamed("d").JSON, 0o600))
	require.NoError(t, os.Rename(next, path))
	step()
	require.True(t, has(t, s, "d"))
	step()
	write(bytes.Repeat([]byte(" "), maxDocumentBytes+1))
	require.True(t, has(t, s, "d"))
	require.ErrorContains(t, s.Err(), "longer than")

	_, err = fetchFile(t.TempDir())(context.Background(), "")
	require.ErrorContains(t, err, "not a regular file")
}

// identityProvider starts an https server with the test's handler, and makes a source that reads from it.
func identityProvider(t *testing.T, handler http.HandlerFunc) (*KeySource, *clock) {
	t.Helper()
	srv := httptest.NewTLSServer(handler)
	t.Cleanup(srv.Close)
	now := newClock()
	s := must.Get(NewKeySource(srv.URL+"/jwks?key=s3cret", SourceOptions{Now: now.Now, Client: srv.Client()}))(t)
	return s, now
}

func TestURLSource(t *testing.T) {
	t.Parallel()
	var full, unchanged atomic.Int32
	s, now := identityProvider(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=100")
		w.Header().Set("ETag", `"v1"`)
		if r.Header.Get("If-None-Match") == `"v1"` {
			unchanged.Add(1)
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		_, _ = w.Write(keysNamed("a").JSON)
	})
	require.True(t, has(t, s, "a"))
	now.Add(74 * time.Second)
	require.True(t, has(t, s, "a"))
	require.EqualValues(t, 0, unchanged.Load())
	now.Add(26 * time.Second)
	require.True(t, has(t, s, "a"))
	require.EqualValues(t, 1, unchanged.Load())
	require.EqualValues(t, 1, full.Load())
}

func TestURLSourceRefusesBadAnswers(t *testing.T) {
	t.Parallel()
	for want, handler := range map[string]http.HandlerFunc{
		"answered 500": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) },
		"answered 404": http.NotFound,
		"answered 302": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://evil.example/", http.StatusFound)
		},
		"longer than": func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.Copy(w, io.LimitReader(endless{}, 2*maxDocumentBytes))
		},
		"not modified": func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotModified) },
		"EOF":          func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
	} {
		s, _ := identityProvider(t, handler)
		_, err := s.Keys(context.Background())
		require.ErrorIs(t, err, ErrKeysUnavailable)
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "s3cret", "a URL's query may hold a secret")
	}
}

// A server certificate of an unknown authority is refused.
func TestURLSourceChecksCertificates(t *testing.T) {
	t.Parallel()
	srv := httptest.NewUnstartedServer(http.NotFoundHandler())
	srv.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0) // The server would log the failed handshake.
	srv.StartTLS()
	t.Cleanup(srv.Close)
	s, err := NewKeySource(srv.URL, SourceOptions{})
	require.NoError(t, err)
	_, err = s.Keys(context.Background())
	require.ErrorContains(t, err, "certificate")
}

func TestFreshness(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		control, age string
		want         time.Duration
	}{
		{"max-age=60", "", time.Minute},
		{"Public, Max-Age=60, must-revalidate", "", time.Minute},
		{`max-age="60"`, "", time.Minute},
		{"max-age=60", "20", 40 * time.Second}, // 20 s old in a shared cache
		{"max-age=60", "100", minURLAge},
		{"", "", defaultURLAge}, {"public", "", defaultURLAge},
		{"no-store", "", minURLAge}, {"no-cache, max-age=600", "", minURLAge}, {"max-age=0", "", minURLAge},
		{"max-age=junk", "", minURLAge}, {"max-age=-5", "", minURLAge}, {"max-age", "", minURLAge},
		{"max-age=31536000", "", maxURLAge}, {"max-age=99999999999999999999", "", minURLAge},
		{"max-age=60", "junk", time.Minute},
		{"s-maxage=5", "", defaultURLAge}, // for shared caches only
	} {
		h := http.Header{}
		h.Set("Cache-Control", c.control)
		h.Set("Age", c.age)
		require.Equal(t, c.want, freshnessOf(h), c)
	}
	require.Equal(t, 7*time.Second, freshnessOf(http.Header{"Cache-Control": {"public", "max-age=7"}}), "several lines")
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return copy(p, strings.Repeat(" ", len(p))), nil }
