package projects

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
	"github.com/lattice-director/director/token"
)

const (
	uuidForm   = `[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}`
	rowTime    = `\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(\.\d{1,6})?\+00`
	tokenTime  = `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`
	secretForm = `[A-Za-z0-9_-]{43}`
	keyOfP1    = `{"id":"` + uuidForm + `","project_id":"p1","name":"%s","secret":"` + secretForm + `","scopes":\[%s\],"revoked_at":null,"rotated_from":%s,"created_at":"` + rowTime + `"}`
	unknownKey = `{"error":"key not found","code":"key_unknown"}`
	noName     = `{"error":"name is required","code":"invalid"}`
	noIDs      = `{"error":"project_id and key_id are required","code":"invalid"}`
)

// The answers are those of Nexis' control API to the byte, with `code` in errors.
func TestAnswersToTheByte(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		method, target, body string
		status               int
		want                 string // a regular expression
	}{
		"health":                  {"GET", "/health", "", 200, `{"ok":true}`},
		"project":                 {"POST", "/projects", `{"name":" my <game> "}`, 201, `{"id":"` + uuidForm + `","name":"my <game>","created_at":"` + rowTime + `"}`},
		"project named by number": {"POST", "/projects", `{"name":5}`, 201, `{"id":"` + uuidForm + `","name":"5","created_at":"` + rowTime + `"}`},
		"project without body":    {"POST", "/projects", "", 400, noName},
		"project without name":    {"POST", "/projects", `{}`, 400, noName},
		"project with null":       {"POST", "/projects", `{"name":null}`, 400, noName},
		"project with blanks":     {"POST", "/projects", `{"name":"  "}`, 400, noName},
		"project with 201 letters": {"POST", "/projects", `{"name":"` + strings.Repeat("a", 201) + `"}`, 400,
			`{"error":"name must have at most 200 characters, and none of them U\+0000","code":"invalid"}`},
		"name of 1 MiB": {"POST", "/projects", `{"name":"` + strings.Repeat("a", 1<<20) + `"}`, 400,
			`{"error":"the body must not be longer than 64 KiB","code":"body_too_large"}`},
		"not JSON":       {"POST", "/projects", `name=a`, 400, `Bad Request`},
		"a list":         {"POST", "/projects", `[]`, 400, `Bad Request`},
		"half an object": {"POST", "/projects", `{"name":"a"`, 400, `Bad Request`},
		"projects":       {"GET", "/projects", "", 200, `\[{"id":"p1","name":"one","created_at":"` + rowTime + `"}\]`},
		"projects after": {"GET", "/projects?after=p1&limit=1", "", 200, `\[\]`},
		"no such limit":  {"GET", "/projects?limit=1001", "", 400, `{"error":"limit must be 1 to 1000","code":"invalid"}`},

		"key without body":   {"POST", "/projects/p1/keys", "", 201, fmt.Sprintf(keyOfP1, "default", `"token:mint"`, "null")},
		"key":                {"POST", "/projects/p1/keys", `{"name":" a ","scopes":[" read","read",7,""]}`, 201, fmt.Sprintf(keyOfP1, "a", `"read"`, "null")},
		"key without scopes": {"POST", "/projects/p1/keys", `{"name":"","scopes":[]}`, 201, fmt.Sprintf(keyOfP1, "default", `"token:mint"`, "null")},
		"key with a scope of 65 bytes": {"POST", "/projects/p1/keys", `{"scopes":["` + strings.Repeat("a", 65) + `"]}`, 400,
			`{"error":"scopes must be at most 16, of 1 to 64 bytes each","code":"invalid"}`},
		"key of no project": {"POST", "/projects/p2/keys", `{}`, 404, `{"error":"project not found","code":"project_unknown"}`},
		"key, not JSON":     {"POST", "/projects/p1/keys", `x`, 400, `Bad Request`},
		"keys": {"GET", "/projects/p1/keys", "", 200,
			`\[{"id":"k1","project_id":"p1","name":"default","scopes":\["token:mint"\],"revoked_at":null,"rotated_from":null,"created_at":"` + rowTime + `"}\]`},
		"keys of no project": {"GET", "/projects/p2/keys", "", 200, `\[\]`},
		"keys after":         {"GET", "/projects/p1/keys?after=k1", "", 200, `\[\]`},

		"revoke": {"POST", "/projects/p1/keys/k1/revoke", "", 200,
			`{"id":"k1","project_id":"p1","name":"default","scopes":\["token:mint"\],"revoked_at":"` + rowTime + `","rotated_from":null,"created_at":"` + rowTime + `"}`},
		"revoke a key of another project": {"POST", "/projects/p2/keys/k1/revoke", "", 404, unknownKey},
		"revoke no key":                   {"POST", "/projects/p1/keys/k2/revoke", "{}", 404, unknownKey},
		"rotate":                          {"POST", "/projects/p1/keys/k1/rotate", "", 201, fmt.Sprintf(keyOfP1, "default-rotated", `"token:mint"`, `"k1"`)},
		"rotate with grace":               {"POST", "/projects/p1/keys/k1/rotate", `{"grace_seconds":60}`, 201, fmt.Sprintf(keyOfP1, "default-rotated", `"token:mint"`, `"k1"`)},
		"rotate with a text":              {"POST", "/projects/p1/keys/k1/rotate", `{"grace_seconds":"60"}`, 400, `{"error":"grace_seconds must be 0 to 2592000","code":"invalid"}`},
		"rotate with too much grace":      {"POST", "/projects/p1/keys/k1/rotate", `{"grace_seconds":1e300}`, 400, `{"error":"grace_seconds must be 0 to 2592000","code":"invalid"}`},
		"rotate a key of another project": {"POST", "/projects/p2/keys/k1/rotate", "", 404, unknownKey},

		"token": {"POST", "/tokens", `{"project_id":"p1","key_id":" k1 ","audience":"ws://a&b","sub":"alice"}`, 200,
			`{"token":"[A-Za-z0-9_-]+\.` + secretForm + `","claims":{"project_id":"p1","issued_at":"` + tokenTime + `","expires_at":"` + tokenTime + `","key_id":"k1","aud":"ws://a&b","sub":"alice"}}`},
		"token of no key":         {"POST", "/tokens", `{"project_id":"p1","key_id":"k2"}`, 404, unknownKey},
		"token of no project":     {"POST", "/tokens", `{"project_id":"p 1","key_id":"k1"}`, 404, unknownKey},
		"token without ids":       {"POST", "/tokens", `{"project_id":"p1"}`, 400, noIDs},
		"token without body":      {"POST", "/tokens", "", 400, noIDs},
		"token for an odd player": {"POST", "/tokens", `{"project_id":"p1","key_id":"k1","sub":""}`, 400, `{"error":"sub must have 1 to 255 bytes without control characters","code":"invalid"}`},
		"token for a long audience": {"POST", "/tokens", `{"project_id":"p1","key_id":"k1","audience":"` + strings.Repeat("a", 256) + `"}`, 400,
			`{"error":"audience must have at most 255 bytes","code":"invalid"}`},

		"key status":              {"GET", "/internal/key-status?project_id=p1&key_id=k1", "", 200, `{"project_id":"p1","key_id":"k1","exists":true,"revoked":false,"scopes":\["token:mint"\]}`},
		"status of no key":        {"GET", "/internal/key-status?project_id=p2&key_id=k1", "", 200, `{"project_id":"p2","key_id":"k1","exists":false,"revoked":false,"scopes":\[\]}`},
		"status without ids":      {"GET", "/internal/key-status?project_id=p1", "", 400, noIDs},
		"unknown route":           {"GET", "/unknown", "", 404, `NOT_FOUND`},
		"unknown method":          {"DELETE", "/projects", "", 404, `NOT_FOUND`},
		"a route of Nexis' login": {"POST", "/auth/sign-in", `{}`, 404, `NOT_FOUND`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			res, body := setup(t).call(tc.method, tc.target, tc.body)
			require.Equal(t, tc.status, res.Code, "%s", body)
			require.Regexp(t, "^"+pattern(tc.want)+"$", body)
			kind := "application/json"
			if !strings.HasPrefix(body, "{") && !strings.HasPrefix(body, "[") {
				kind = "text/plain;charset=utf-8"
			}
			require.Equal(t, kind, res.Header().Get("Content-Type"))
		})
	}
}

// pattern quotes the braces of JSON. Those of a count, as in {4}, stay.
func pattern(want string) string {
	return regexp.MustCompile(`(\{\d[\d,]*\})|[{}]`).ReplaceAllStringFunc(want, func(brace string) string {
		if len(brace) > 1 {
			return brace
		}
		return `\` + brace
	})
}

func TestTokensLastAsLongAsIsAsked(t *testing.T) {
	t.Parallel()
	b := setup(t)
	for ttl, seconds := range map[string]int{"null": 3600, `"x"`: 3600, `"60"`: 3600, "true": 3600, "{}": 3600, "59.9": 59, "29": 30, "-1": 30, "1e300": 86_400, "86400": 86_400, "600": 600} {
		_, body := b.call("POST", "/tokens", `{"project_id":"p1","key_id":"k1","ttl_seconds":`+ttl+`}`)
		var minted struct{ Token string }
		require.NoError(t, json.Unmarshal([]byte(body), &minted))
		claims, err := token.VerifyProject(minted.Token, func(project, _ string) ([]string, error) { return []string{token.ProjectSecret(master, project)}, nil }, b.Now())
		require.NoError(t, err)
		require.InDelta(t, seconds, claims.Expires.Sub(claims.IssuedAt).Seconds(), 0, ttl)
		require.Equal(t, "k1", claims.KeyID)
	}
}

// Pins a secret of the project that signs although only those of keys may.
func TestTheSecretsOfKeysSignWhereSettingsSaySo(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.Secrets.KeysOnly = true })
	_, body := b.call("POST", "/projects/p1/keys", "")
	var key struct{ ID, Secret string }
	require.NoError(t, json.Unmarshal([]byte(body), &key))
	_, body = b.call("POST", "/tokens", `{"project_id":"p1","key_id":"`+key.ID+`"}`)
	var minted struct{ Token string }
	require.NoError(t, json.Unmarshal([]byte(body), &minted))
	_, err := token.VerifyProject(minted.Token, func(string, string) ([]string, error) { return []string{key.Secret}, nil }, b.Now())
	require.NoError(t, err)
}

func TestRevokedKeysMintNoTokens(t *testing.T) {
	t.Parallel()
	b := setup(t)
	_, first := b.call("POST", "/projects/p1/keys/k1/revoke", "")
	_, again := b.call("POST", "/projects/p1/keys/k1/revoke", "")
	require.Equal(t, first, again, "the first time stays")
	const mint = `{"project_id":"p1","key_id":"k1"}`
	for _, c := range []struct{ target, body, want string }{
		{"/tokens", mint, `403 {"error":"key revoked","code":"key_revoked"}`},
		{"/projects/p1/keys/k1/rotate", "", `409 {"error":"key already revoked","code":"key_revoked"}`},
	} {
		res, body := b.call("POST", c.target, c.body)
		require.Equal(t, c.want, fmt.Sprint(res.Code, " ", body))
	}
	_, status := b.call("GET", "/internal/key-status?project_id=p1&key_id=k1", "")
	require.Contains(t, status, `"exists":true,"revoked":true`)
	_, body := b.call("POST", "/projects/p1/keys", `{"scopes":["projects:read"]}`)
	var reader struct{ ID string }
	require.NoError(t, json.Unmarshal([]byte(body), &reader))
	res, body := b.call("POST", "/tokens", `{"project_id":"p1","key_id":"`+reader.ID+`"}`)
	require.Equal(t, `403 {"error":"key missing token:mint scope","code":"key_scope"}`, fmt.Sprint(res.Code, " ", body))

	_, body = b.call("GET", "/metrics", "")
	require.Regexp(t, `^\{"started_at":"`+tokenTime+`","uptime_seconds":\d+,"counters":\{"requests_total":8,"projects_created":1,"keys_created":2,"keys_revoked":1,"keys_rotated":0,`+
		`"tokens_minted":0,"tokens_denied":2\}\}$`, body)
}

func TestTwoRotationsAtOnceMakeOneKey(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var racing sync.WaitGroup
	statuses := make([]int, 2)
	for i := range statuses {
		racing.Go(func() {
			res, _ := b.call("POST", "/projects/p1/keys/k1/rotate", "")
			statuses[i] = res.Code
		})
	}
	racing.Wait()
	require.ElementsMatch(t, []int{http.StatusCreated, http.StatusConflict}, statuses)
	keys, err := b.ProjectKeys(t.Context(), "p1", "", 10)
	require.NoError(t, err)
	require.Len(t, keys, 2)
}

// Pins a route that is open, and an internal token that a guess finds.
func TestEveryRouteButHealthNeedsAnInternalToken(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.FailureRate = rest.Rate{PerSecond: 0.001, Burst: 100} })
	for _, r := range b.engine.Routes() {
		if r.Path == "/health" {
			continue
		}
		target := strings.NewReplacer(":id", "p1", ":keyId", "k1").Replace(r.Path)
		for _, sent := range []string{"", internal + "x", internal[1:]} {
			res, body := b.call(r.Method, target, "", "x-nexis-internal-token: "+sent)
			require.Equal(t, `401 {"error":"unauthorized","code":"unauthorized"}`, fmt.Sprint(res.Code, " ", body), r.Path)
		}
		res, _ := b.call(r.Method, target, "", "x-nexis-internal-token: another-internal-token")
		require.NotEqual(t, http.StatusUnauthorized, res.Code, "either of two tokens")
	}
	for range 100 {
		b.call("GET", "/projects", "", "x-nexis-internal-token: guess")
	}
	res, body := b.call("GET", "/projects", "", "x-nexis-internal-token: guess")
	require.Equal(t, http.StatusTooManyRequests, res.Code, "%s", body)
	res, _ = b.call("GET", "/projects", "")
	require.Equal(t, http.StatusOK, res.Code, "callers with a token are served")
}

func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var served, described []string
	for _, r := range b.engine.Routes() {
		served = append(served, r.Method+" "+regexp.MustCompile(`:(\w+)`).ReplaceAllString(r.Path, "{$1}"))
	}
	for path, item := range b.doc.Paths.Map() {
		for method, op := range item.Operations() {
			described = append(described, method+" "+path)
			require.NotEmpty(t, op.OperationID+op.Summary+op.Description)
			require.NotNil(t, b.doc.Tags.Get(op.Tags[0]))
		}
	}
	require.ElementsMatch(t, described, served)
}

func TestPagesOfListedOriginsMayCall(t *testing.T) {
	t.Parallel()
	b := setup(t, func(o *Options) { o.CORSOrigins = []string{"https://ops.example"} })
	preflight := func(origin string) *httptest.ResponseRecorder {
		res, _ := b.call("OPTIONS", "/projects", "", "Origin: "+origin, "Access-Control-Request-Method: POST")
		require.Equal(t, http.StatusNoContent, res.Code)
		return res
	}
	res := preflight("https://ops.example")
	require.Equal(t, "https://ops.example", res.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "true", res.Header().Get("Access-Control-Allow-Credentials"))
	require.Equal(t, "GET, POST, OPTIONS", res.Header().Get("Access-Control-Allow-Methods"))
	require.Contains(t, res.Header().Get("Access-Control-Allow-Headers"), headerToken)
	require.Empty(t, preflight("https://other.example").Header().Get("Access-Control-Allow-Origin"))
	got, _ := b.call("GET", "/projects", "", "Origin: https://ops.example")
	require.Equal(t, "https://ops.example", got.Header().Get("Access-Control-Allow-Origin"))
	require.Equal(t, "Origin", got.Header().Get("Vary"))
	got, _ = b.call("GET", "/projects", "", "Origin: https://other.example")
	require.Equal(t, http.StatusOK, got.Code)
	require.Empty(t, got.Header().Get("Access-Control-Allow-Origin"))
	got, _ = setup(t).call("GET", "/projects", "", "Origin: https://ops.example")
	require.Empty(t, got.Header().Get("Access-Control-Allow-Origin"), "no origins are the default")
}

// The actor of an event is the fingerprint of the internal token, never the token.
func TestEventsNameTheInternalToken(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.call("POST", "/projects", `{"name":"a"}`)
	var actor, region string
	require.NoError(t, b.Pool().QueryRow(t.Context(), "SELECT actor, region FROM events WHERE detail->>'name' = 'a'").Scan(&actor, &region))
	require.Equal(t, rest.Fingerprint(internal), actor)
	require.Equal(t, "eu", region)
}

// Without a database callers are told to retry, and nothing of the cause.
func TestAnOutageIs503(t *testing.T) {
	t.Parallel()
	b := setup(t)
	b.Close()
	for _, call := range [][3]string{{"GET", "/projects"}, {"GET", "/metrics"}, {"POST", "/tokens", `{"project_id":"p1","key_id":"k1"}`}, {"POST", "/projects", `{"name":"a"}`}} {
		res, body := b.call(call[0], call[1], call[2])
		require.Equal(t, `503 {"error":"temporarily unavailable","code":"unavailable"}`, fmt.Sprint(res.Code, " ", body), call)
		require.Equal(t, "1", res.Header().Get("Retry-After"))
	}
	res, _ := b.call("GET", "/health", "")
	require.Equal(t, http.StatusOK, res.Code)
}

// Whatever strangers send, the answer is one of the contract and no 500.
func FuzzBodies(f *testing.F) {
	for _, seed := range []string{`{}`, `{"name":"a"}`, `{"name":{"a":[1]},"scopes":"x","project_id":[],"key_id":1e999,"ttl_seconds":"x","sub":7}`, "\xff", `{"name":"\ud800"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		var n newToken
		var k newKey
		if json.Unmarshal([]byte(body), &n) != nil || json.Unmarshal([]byte(body), &k) != nil {
			return
		}
		require.LessOrEqual(t, ttlOf(n.TTL), mostTTL)
		require.GreaterOrEqual(t, ttlOf(n.TTL), leastTTL)
		for _, s := range scopesOf(k.Scopes) {
			require.NotEmpty(t, s)
			require.Equal(t, s, strings.TrimSpace(s))
		}
		require.Equal(t, strings.TrimSpace(textOf(n.Subject)), textOf(n.Subject))
	})
}
