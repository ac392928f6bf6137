package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/server/play"
)

// Every answer that any test of this package gets is compared with the contract (answers_test.go). Here is the rest.

// Pins a route that is served and not described, or described and not served.
func TestRoutesAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	b := setup(t)
	var served, described []string
	parameter := regexp.MustCompile(`:(\w+)`)
	forBrowsers := []string{"/", "/favicon.ico"}
	for _, r := range b.server.Routes() {
		if r.Method == http.MethodHead || slices.Contains(forBrowsers, r.Path) {
			continue // TestHead and TestBrowsers look at these
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

// bodies calls f in a subtest for each operation that takes a body.
func bodies(t *testing.T, f func(t *testing.T, path string, s *openapi3.Schema)) {
	for path, item := range document(t).Paths.Map() {
		for method, op := range item.Operations() {
			if op.RequestBody == nil {
				continue
			}
			require.Equal(t, http.MethodPost, method)
			t.Run(op.OperationID, func(t *testing.T) {
				t.Parallel()
				f(t, path, op.RequestBody.Value.Content["application/json"].Schema.Value)
			})
		}
	}
}

// Pins a server that asks for more than the contract does.
func TestTheSmallestBodiesAreAccepted(t *testing.T) {
	t.Parallel()
	bodies(t, func(t *testing.T, path string, s *openapi3.Schema) {
		b := setup(t)
		a := b.post(path, contracttest.Smallest(s))
		require.NotEqual(t, http.StatusBadRequest, a.status, "%s", a.body)
		example := b.post(path, s.Example)
		require.NotEqual(t, http.StatusBadRequest, example.status, "%s", example.body)
	})
}

// Pins a server that takes what the contract refuses, or that does not say where the mistake is.
func TestEachBrokenConstraintIsNamed(t *testing.T) {
	t.Parallel()
	bodies(t, func(t *testing.T, path string, s *openapi3.Schema) {
		b := setup(t)
		before := rows(b)
		for _, c := range contracttest.Broken(s) {
			a := b.post(path, c.Body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s", c.Name, a.body)
			if c.Field == "" {
				continue // the body as a whole: there is no field to name
			}
			for _, name := range a.named() {
				require.True(t, within(name, c.Field), "%s: names %s", c.Name, name)
			}
		}
		require.Equal(t, before, rows(b))
	})
}

// within tells whether a name is that of the field or of something in it.
func within(name, field string) bool {
	rest, found := strings.CutPrefix(name, field)
	return found && (rest == "" || rest[0] == '.' || rest[0] == '[')
}
