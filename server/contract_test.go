package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/server"
	"github.com/lattice-director/director/server/play"
)

// Every answer in the tests of this package is validated against the contract (answers_test.go). The tests here cover
// routes and requests.

// The mounted routes are those of the contract.
func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	b := setup(t, guests)
	var served, described []string
	parameter := regexp.MustCompile(`:(\w+)`)
	forBrowsers := []string{"/", "/favicon.ico", "/nexis.yaml"}
	for _, r := range b.server.Routes() {
		if r.Method == http.MethodHead || slices.Contains(forBrowsers, r.Path) || strings.HasPrefix(r.Path, "/docs/try") {
			continue // TestHead, TestBrowsers and TestTheReader cover these.
		}
		served = append(served, r.Method+" "+parameter.ReplaceAllString(r.Path, "{$1}"))
	}
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			described = append(described, method+" "+path)
			require.Equal(t, slices.Contains(op.Tags, "play"), play.Serves(path), path)
		}
	}
	require.ElementsMatch(t, described, served)
}

// forEachBody calls f in a subtest for each operation that takes a body.
func forEachBody(t *testing.T, f func(t *testing.T, path string, s *openapi3.Schema)) {
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil || slices.Contains(op.Tags, "ops") || slices.Contains(op.Tags, "backend") {
				continue // TestInvalidProfilesOverHTTP covers those of operators, TestInvalidBodiesOfBackends those of backends.
			}
			require.Equal(t, http.MethodPost, method)
			t.Run(op.OperationID, func(t *testing.T) {
				t.Parallel()
				f(t, path, op.RequestBody.Value.Content["application/json"].Schema.Value)
			})
		}
	}
}

// A server requires no more than the contract: it accepts the smallest valid body and the example of each operation.
func TestTheSmallestBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	forEachBody(t, func(t *testing.T, path string, s *openapi3.Schema) {
		b := setup(t)
		body := fields{}
		require.NoError(t, json.Unmarshal(contracttest.Smallest(s), &body))
		if path == "/fleet/register" {
			body["endpoint"] = "a:1" // only the servers of deployments may leave it out
		}
		a := b.post(path, body)
		require.NotEqual(t, http.StatusBadRequest, a.status, "%s", a.body)
		example := b.post(path, s.Example)
		require.NotEqual(t, http.StatusBadRequest, example.status, "%s", example.body)
	})
}

// A server refuses every body that violates a constraint of the contract, and names the field.
func TestEachViolatedConstraintIsNamed(t *testing.T) {
	t.Parallel()
	forEachBody(t, func(t *testing.T, path string, s *openapi3.Schema) {
		b := setup(t)
		before := rows(b)
		for _, c := range contracttest.BrokenCases(s) {
			a := b.post(path, c.Body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s", c.Name, a.body)
			if c.Field == "" {
				continue // The error concerns the whole body, so there is no field to name.
			}
			for _, name := range a.named() {
				inside, found := strings.CutPrefix(name, c.Field)
				require.True(t, found && (inside == "" || inside[0] == '.' || inside[0] == '['), "%s: names %s", c.Name, name)
			}
		}
		require.Equal(t, before, rows(b))
	})
}

// Pins a parameter of a query or a header that a server accepts although the contract does not, such as retired=yes, which
// meant false.
func TestEachViolatedParameterIsNamed(t *testing.T) {
	t.Parallel()
	b := setup(t, everyFace)
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			for _, p := range op.Parameters {
				if p.Value.In == "path" || p.Value.Name == "If-None-Match" { // which is compared, and not read
					continue
				}
				s := *p.Value.Schema.Value
				s.Example = p.Value.Example
				for _, text := range contracttest.BrokenTexts(&s) {
					if p.Value.In == "header" && text != strings.TrimSpace(controls.ReplaceAllString(text, "")) {
						continue // HTTP drops it
					}
					a := b.call(b.example(method, path, op, p.Value.Name, text))
					require.Equal(t, []string{p.Value.Name}, a.named(), "%s %s %s=%q", method, path, p.Value.Name, text)
				}
			}
		}
	}
}

// example is the request of an operation that the contract shows, in which one parameter has another value.
func (b *bundle) example(method, path string, op *openapi3.Operation, name, value string) *http.Request {
	b.t.Helper()
	query, headers := url.Values{}, b.credentials(server.Listener{Name: "api"}, path)
	for _, p := range op.Parameters {
		text := fmt.Sprint(p.Value.Example)
		if p.Value.Name == name {
			text = value
		}
		switch {
		case p.Value.In == "path":
			path = strings.Replace(path, "{"+p.Value.Name+"}", url.PathEscape(text), 1)
		case p.Value.In == "query" && (p.Value.Required || p.Value.Name == name):
			query.Set(p.Value.Name, text)
		case p.Value.In == "header" && p.Value.Name == name:
			headers.Set(p.Value.Name, text)
		}
	}
	var body any
	if op.RequestBody != nil {
		body = op.RequestBody.Value.Content["application/json"].Schema.Value.Example
	}
	r := b.request(method, path+"?"+query.Encode(), body)
	headers.Set("Content-Type", "application/json")
	if slices.Contains(op.Tags, "backend") {
		headers.Set("Authorization", "Bearer "+map[bool]string{true: ticketsToken, false: playersToken}[strings.HasPrefix(path, "/backend/tickets")])
	}
	if op.OperationID == "followEvents" && name == "Last-Event-ID" {
		headers.Set("Accept", "text/event-stream") // only streams continue
	}
	r.Header = headers
	return r
}
