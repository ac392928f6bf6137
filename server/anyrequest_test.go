package server_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/internal/testkit/webtest"
	"github.com/lattice-director/director/server"
)

// strange are texts that a program may not expect.
var strange = []string{
	"", "\x00", "a\x00b", "\xff", "a\xc3\x28", "\xed\xa0\x80", "\ufffd", "\u202e", "..", "../..", "%", "%zz", "%2f", "/", "//", "~", "~~", "a~b~c", "a|b", "'", "\"",
	"' OR 1=1 --", "\\", "\\u0000", "{}", "[]", "null", "0", "-1", "1", "007", "1.5", "1e999", "NaN", "9007199254740993", "9223372036854775808", "99999999999999999999999",
	"true", "1ms", "-5s", "9999999h", "2026-11-26", "0001-01-01T00:00:00Z", "999999-01-01T00:00:00Z", "eu", "eu.x", "global", "x", "00000000-0000-0000-0000-000000000000",
	"*", "_", ":", "é", "日本語", "😀", strings.Repeat("a", 300), strings.Repeat("é", 199), strings.Repeat("x", 9000), "a b", "\r\n", "\t", "<script>", "${jndi:x}",
}

// parameters are the names that any route reads from its query.
var parameters = []string{
	"after", "client_ip", "access_token", "filter", "game", "id", "instance", "instanceId", "key", "key_id", "kind", "label", "limit", "match", "mode", "next", "player", "pool",
	"process_id", "profile", "project_id", "q", "reason", "region", "retired", "session", "since", "state", "status", "sub", "ticket", "type", "universe", "version", "wait", "_since",
	"view_name", "pageSize", "ticket.id", "deadline", "dry_run", "shadow", "code",
}

// headers are the names that any route reads.
var headers = []string{
	"Accept", "Accept-Encoding", "Accept-Language", "Content-Type", "Content-Encoding", "Cookie", "Forwarded", "Idempotency-Key", "If-Match", "If-None-Match", "Last-Event-ID", "Origin",
	"Range", "Sec-Fetch-Site", "Traceparent", "User-Agent", "X-Forwarded-For", "X-Forwarded-Proto", "X-Request-Id", "X-Client-IP",
}

// anyRequest makes requests at random.
type anyRequest struct {
	*rand.Rand

	bodies map[string]*openapi3.SchemaRef // by method and path
}

func (a *anyRequest) pick(of []string) string { return of[a.IntN(len(of))] }

// value makes a value of a schema that is nearly valid.
func (a *anyRequest) value(of *openapi3.SchemaRef, depth int) any {
	var s *openapi3.Schema
	if of != nil {
		s = of.Value
	}
	switch {
	case s == nil || a.IntN(12) == 0 || depth > 6:
		return []any{nil, a.pick(strange), a.Float64(), -1, true, []any{}, map[string]any{}, map[string]any{a.pick(strange): a.pick(strange)}}[a.IntN(8)]
	case len(s.Enum) > 0 && a.IntN(3) > 0:
		return s.Enum[a.IntN(len(s.Enum))]
	case s.Type.Is("object") || len(s.Properties) > 0:
		return a.object(s, depth)
	case s.Type.Is("array"):
		return []any{a.value(s.Items, depth+1), a.value(s.Items, depth+1)}[:a.IntN(3)]
	case s.Type.Is("integer"):
		return []any{0, 1, 2, 64, -1, 1 << 31, 1 << 53}[a.IntN(7)]
	case s.Type.Is("number"):
		return []any{0, 0.5, 1e9, -1, 1e308}[a.IntN(5)]
	case s.Type.Is("boolean"):
		return a.IntN(2) == 0
	}
	return a.pick(strange)
}

func (a *anyRequest) object(s *openapi3.Schema, depth int) map[string]any {
	made := map[string]any{}
	for name, property := range s.Properties {
		if a.IntN(4) > 0 {
			made[name] = a.value(property, depth+1)
		}
	}
	if s.AdditionalProperties.Schema != nil {
		made[a.pick(strange)] = a.value(s.AdditionalProperties.Schema, depth+1)
	}
	return made
}

// body makes a body for a route, and its type.
func (a *anyRequest) body(l server.Listener, method, pattern, csrf string) (body []byte, media string) {
	if l.Name == "console" {
		form := url.Values{"csrf": {csrf}, "reason": {a.pick(strange)}, a.pick(parameters): {a.pick(strange)},
			"min": {a.pick(strange)}, "max": {a.pick(strange)}}
		return []byte(form.Encode()), "application/x-www-form-urlencoded"
	}
	schema := a.bodies[method+" "+pathParameter.ReplaceAllStringFunc(pattern, func(p string) string { return "{" + p[1:] + "}" })]
	text, _ := json.Marshal(a.value(schema, 0)) // replaces invalid UTF-8
	if a.IntN(8) == 0 {
		text = bytes.ReplaceAll(text, []byte("a"), []byte(a.pick(strange)))
	}
	return text, "application/json"
}

// rivalisRoom and openMatchTicket are the bodies that no OpenAPI document describes.
const (
	rivalisRoom = `{"type":"object","properties":{"type":{"type":"string"},"roomId":{"type":"string"},"placement":{"type":"object","properties":{
		"instanceId":{"type":"string"},"processUid":{"type":"string"},"strategy":{"type":"string"},"labels":{"type":"object","additionalProperties":{"type":"string"}}}}}}`
	openMatchTicket = `{"type":"object","properties":{"ticket":{"type":"object","properties":{"id":{"type":"string"},"search_fields":{"type":"object","properties":{
		"tags":{"type":"array","items":{"type":"string"}},"string_args":{"type":"object","additionalProperties":{"type":"string"}},
		"double_args":{"type":"object","additionalProperties":{"type":"number"}}}},"assignment":{"type":"object","properties":{"connection":{"type":"string"}}}}},
		"ticket_ids":{"type":"array","items":{"type":"string"}},"pool":{"type":"object","properties":{"name":{"type":"string"},
		"string_equals_filters":{"type":"array","items":{"type":"object","properties":{"string_arg":{"type":"string"},"value":{"type":"string"}}}},
		"tag_present_filters":{"type":"array","items":{"type":"object","properties":{"tag":{"type":"string"}}}}}},
		"assignments":{"type":"array","items":{"type":"object","properties":{"ticket_ids":{"type":"array","items":{"type":"string"}},
		"assignment":{"type":"object","properties":{"connection":{"type":"string"}}}}}},"backfill":{"type":"object","properties":{"id":{"type":"string"},
		"search_fields":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"string"}}}}}}}}`
)

// knownBodies returns the schemas of the bodies of all routes.
func knownBodies(t *testing.T) map[string]*openapi3.SchemaRef {
	t.Helper()
	nexis := must.Get(contracttest.Nexis())(t)
	bodies := map[string]*openapi3.SchemaRef{}
	for _, doc := range []*openapi3.T{document(t).T, nexis} {
		for path, item := range doc.Paths.Map() {
			for method, op := range item.Operations() {
				if op.RequestBody != nil && op.RequestBody.Value.Content["application/json"] != nil {
					bodies[method+" "+path] = op.RequestBody.Value.Content["application/json"].Schema
				}
			}
		}
	}
	for route, text := range map[string]string{
		"POST /v1/rooms": rivalisRoom, "POST /v1/frontendservice/{path}": openMatchTicket, "POST /v1/backendservice/{path}": openMatchTicket,
		"POST /v1/queryservice/{path}": openMatchTicket,
	} {
		bodies[route] = &openapi3.SchemaRef{Value: &openapi3.Schema{}}
		require.NoError(t, json.Unmarshal([]byte(text), bodies[route].Value))
	}
	return bodies
}

// openMatchPaths are what the one route of each service of Open Match serves.
var openMatchPaths = []string{"tickets", "tickets/:id", "tickets/:id/assignments", "backfills", "backfills/:id", "backfills/:id/acknowledge", "tickets/count", "tickets/batch_get", "backfills/:id/tickets", "tickets:query", "tickets:release", "tickets:assign", "ticketids:query", "backfills:query", "profiles/:id"}

// sendAny sends one request, and returns its status; 0 if it was still waiting when the time was over.
func (b *bundle) sendAny(client *http.Client, a *anyRequest, l server.Listener, method, pattern string) (status int, sent string) {
	b.t.Helper()
	// The parameters of the route are filled in, escaped or as they are.
	path := pathParameter.ReplaceAllStringFunc(strings.Replace(pattern, "*path",
		openMatchPaths[a.IntN(len(openMatchPaths))], 1),
		func(string) string { return cmp.Or(url.PathEscape(a.pick(strange)), "x") })
	query := url.Values{}
	for range a.IntN(4) {
		query.Add(a.pick(parameters), a.pick(strange))
	}
	target := "http://" + l.Addr.String() + path + "?" + query.Encode()
	credentials := b.credentials(l, path)
	body, media := a.body(l, method, pattern, b.csrf)
	ctx, cancel := context.WithTimeout(b.t.Context(), 2*time.Second)
	defer cancel()
	if method == http.MethodGet || method == http.MethodHead {
		body = nil
	}
	r := webtest.Request(b.t, method, target, body).WithContext(ctx)
	r.Header = credentials
	r.Header.Set("Content-Type", media)
	for range a.IntN(3) {
		r.Header.Set(a.pick(headers), controls.ReplaceAllString(a.pick(strange), ""))
	}
	sent = fmt.Sprintf("%s %s %v %q", method, target, r.Header, body)
	res, err := client.Do(r)
	if err != nil {
		return 0, sent
	}
	_ = res.Body.Close()
	return res.StatusCode, sent
}

var controls = regexp.MustCompile(`[\x00-\x1f\x7f]`)

// Pins a NUL or invalid UTF-8 that is an internal error. No request of a caller is one. It runs for the time in
// DIRECTOR_TEST_FUZZ, else for some requests to each route. A new route is in it by being mounted.
func TestNoRequestIsAnInternalError(t *testing.T) {
	t.Parallel()
	b := setup(t, everyFace)
	b.waitingTicket()
	seed, until, rounds := uint64(1), time.Time{}, 5
	if text := os.Getenv("DIRECTOR_TEST_FUZZ"); text != "" {
		d, err := time.ParseDuration(text)
		require.NoError(t, err)
		seed, until, rounds = rand.Uint64(), time.Now().Add(d), 1<<30
	}
	t.Logf("seed %d", seed)
	a := &anyRequest{Rand: rand.New(rand.NewPCG(seed, 0)), bodies: knownBodies(t)}
	client := b.plainClient()
	for round := 0; round < rounds && (until.IsZero() || time.Now().Before(until)); round++ {
		for _, l := range b.server.Listeners() {
			for _, route := range l.Routes {
				status, sent := b.sendAny(client, a, l, route.Method, route.Path)
				// as Open Match answers other methods
				unimplemented := status == http.StatusNotImplemented && strings.HasSuffix(route.Path, "/*path")
				if status >= http.StatusInternalServerError && status != http.StatusServiceUnavailable && !unimplemented {
					t.Errorf("%d: %s", status, sent)
				}
			}
		}
	}
	require.NotContains(t, b.log.String(), `"level":"ERROR"`)
}
