package server_test

import (
	"encoding/xml"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api"
	"github.com/lattice-director/director/internal/testkit/dbtest"
	"github.com/lattice-director/director/internal/testkit/keytest"
	"github.com/lattice-director/director/internal/testkit/storetest"
	"github.com/lattice-director/director/server/keyring"
	"github.com/lattice-director/director/token"
)

// Verifiers can cache the key set and revalidate it by its entity tag.
func TestTheKeySet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.get("/.well-known/jwks.json")
	require.Len(t, a.ok(http.StatusOK)["keys"], 2, "the first key and the next one")
	require.Equal(t, "public, max-age=300", a.header.Get("Cache-Control"))
	require.Equal(t, "application/json", a.header.Get("Content-Type"))
	require.NotContains(t, string(a.body), `"d"`, "the private key")
	etag := a.header.Get("ETag")

	for _, known := range []string{etag, "W/" + etag, `"other", ` + etag, "*"} {
		same := b.get("/.well-known/jwks.json", header("If-None-Match", known))
		require.Empty(t, same.ok(http.StatusNotModified))
		require.Equal(t, etag, same.header.Get("ETag"))
		require.Equal(t, "public, max-age=300", same.header.Get("Cache-Control"))
	}
	for _, unknown := range []string{`"other"`, strings.Trim(etag, `"`), `""`} {
		require.Equal(t, a.body, b.get("/.well-known/jwks.json", header("If-None-Match", unknown)).body)
	}
}

// A tainted key is no longer published, and its successor takes over.
func TestATaintedKeyLeavesTheSet(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.register("a")
	_, resolved := b.seat("alice")
	etag := b.get("/.well-known/jwks.json").header.Get("ETag")
	var kid string
	require.NoError(t, b.store.Pool().QueryRow(t.Context(),
		"SELECT kid FROM ops.keys WHERE state = 'signing'").Scan(&kid))
	require.NoError(t, b.store.TaintKey(t.Context(), kid))
	require.NoError(t, b.keys.Refresh(t.Context()))
	a := b.get("/.well-known/jwks.json", header("If-None-Match", etag))
	require.Equal(t, http.StatusOK, a.status)
	require.NotContains(t, string(a.body), kid)
	require.NotEmpty(t, resolved)
}

// A ready replica lists every check.
func TestReadiness(t *testing.T) {
	t.Parallel()
	b := setup(t)
	ready := b.get("/readyz").ok(http.StatusOK)
	require.Equal(t, "ready", ready["status"])
	var names []string
	for _, c := range ready["checks"].([]any) {
		names = append(names, c.(map[string]any)["name"].(string))
	}
	require.Equal(t, []string{"database", "schema", "restored", "write", "pooler", "signing_key", "clock"}, names)
}

// A build is not ready on a schema older than it needs, and is ready on a newer one.
func TestReadinessAndTheSchema(t *testing.T) {
	t.Parallel()
	old := setup(t, func(c *config) { c.MinSchema = 1_000_000 })
	a := old.get("/readyz")
	f := a.problem(http.StatusServiceUnavailable, "unavailable")
	require.Contains(t, f["detail"], "1000000")
	require.NotEmpty(t, a.header.Get("Retry-After"))
	require.Equal(t, []any{map[string]any{"field": "schema", "detail": f["detail"]}}, f["errors"])

	newer := setup(t, func(c *config) { c.MinSchema = 1 })
	newer.get("/readyz").ok(http.StatusOK)
}

// The replica serves the contract and its documentation page.
func TestDocuments(t *testing.T) {
	t.Parallel()
	b := setup(t)
	require.Equal(t, "ok", b.get("/healthz").ok(http.StatusOK)["status"])
	contract, page := b.get("/openapi.yaml"), b.get("/docs")
	require.Equal(t, string(api.OpenAPI()), string(contract.body))
	require.Equal(t, "application/yaml", contract.header.Get("Content-Type"))
	require.Equal(t, string(api.Docs()), string(page.body))
	require.Equal(t, "text/html; charset=utf-8", page.header.Get("Content-Type"))
	require.Regexp(t, `^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'; `, page.header.Get("Content-Security-Policy"))
}

// The reader loads nothing from elsewhere, and runs no script that is not a file of this replica. All that its page
// names is there, for callers with and without gzip.
func TestTheReader(t *testing.T) {
	t.Parallel()
	b := setup(t)
	page := b.get("/docs/try")
	require.Equal(t, http.StatusOK, page.status)
	require.Regexp(t, `^default-src 'none'; script-src 'self'; style-src 'self';`, page.header.Get("Content-Security-Policy"))
	require.NotRegexp(t, `<script>|<style|style=|https?:`, string(page.body))
	files := regexp.MustCompile(`(?:src|href)="(try/[^"]*)"`).FindAllStringSubmatch(string(page.body), -1)
	require.Len(t, files, 4)
	for _, file := range files {
		path := "/docs/" + file[1]
		plain := b.get(path)
		require.Equal(t, http.StatusOK, plain.status, path)
		require.NotEmpty(t, plain.body)
		req := b.request(http.MethodGet, path, nil)
		req.Header.Set("Accept-Encoding", "gzip") // so that the client leaves it packed
		packed := b.call(req)
		require.Equal(t, "gzip", packed.header.Get("Content-Encoding"), path)
		require.Less(t, len(packed.body), len(plain.body), path)
		req.Header.Set("If-None-Match", packed.header.Get("ETag"))
		require.Equal(t, http.StatusNotModified, b.call(req).status, path)
	}
	require.Equal(t, string(api.Nexis()), string(b.get("/nexis.yaml").body))
}

// A replica without the right key-encryption key reports what is missing and signs no tokens; other calls still work.
func TestKeysThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	url := dbtest.New(t)
	store := storetest.Open(t, url)
	require.NoError(t, keyring.New(store, keytest.Sealer(t, 9), token.AlgEdDSA,
		keyring.Schedule{}).Refresh(t.Context()))

	b := start(t, url)
	require.NoError(t, b.store.ReadClock(t.Context()))
	b.register("a")
	session := b.matchmake("alice", duel).ok(http.StatusOK)
	b.resolve("alice", session["session_handle"]).problem(http.StatusServiceUnavailable, "unavailable")
	b.get("/.well-known/jwks.json").problem(http.StatusServiceUnavailable, "unavailable")
	missing := regexp.MustCompile(`^the signing keys could not be read yet: .*: key-encryption key [0-9a-f]{16} is not configured$`)
	b.eventually(func() bool { // connections may still be opened
		f := b.get("/readyz").problem(http.StatusServiceUnavailable, "unavailable")
		return missing.MatchString(fmt.Sprint(f["detail"]))
	})
	b.eventually(func() bool { return strings.Contains(b.log.String(), "key-encryption key") })
}

// The routes of package infra, and no others, answer HEAD with the headers of GET and no body: monitors and caches use
// it.
func TestHead(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for path, item := range document(t).Paths.Map() {
		if item.Get == nil || !slices.Contains(item.Get.Tags, "infra") {
			continue
		}
		get, head := b.get(path), b.call(b.request(http.MethodHead, path, nil))
		require.Equal(t, http.StatusOK, head.status, path)
		require.Empty(t, head.body, path)
		for _, name := range []string{"Content-Type", "Cache-Control", "ETag"} {
			require.Equal(t, get.header.Get(name), head.header.Get(name), path)
		}
		require.Equal(t, strconv.Itoa(len(get.body)), head.header.Get("Content-Length"), path)
	}
	var heads int
	for _, r := range b.server.Routes() {
		if r.Method == http.MethodHead {
			heads++
		}
	}
	require.Equal(t, 6, heads)
}

// People who open the address in a browser get the documentation page.
func TestBrowsers(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	root := b.get("/")
	require.Equal(t, http.StatusFound, root.status)
	require.Equal(t, "/docs", root.header.Get("Location"))
	icon := b.get("/favicon.ico")
	require.Equal(t, http.StatusOK, icon.status)
	require.Equal(t, "image/svg+xml", icon.header.Get("Content-Type"))
	require.NoError(t, xml.Unmarshal(icon.body, new(struct{})))
}
