package server_test

import (
	"flag"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server/rest"
)

var updateCredentials = flag.Bool("update", false, "rewrite docs/reference/credentials.md")

const credentialsPage = "../docs/reference/credentials.md"

// credentialKinds are who may call, with what.
var credentialKinds = []string{"nobody", "player", "game server", "backend: players", "backend: tickets", "viewer", "operator"}

// Pins a route that a credential of somebody else opens. Each route of the contract is called with each kind of credential: a
// new route is in the table by being mounted, since the routes are those of the contract.
func TestRoutesAndCredentials(t *testing.T) {
	t.Parallel()
	b := setup(t, guests, func(c *config) {
		c.OpsTokens, c.FailureRate, c.CallerRate = append(c.OpsTokens, "ivy:viewer=a token for reading"), rest.Rate{PerSecond: -1}, rest.Rate{PerSecond: -1}
	})
	b.client = &http.Client{} // the contract does not describe every refusal
	table := []string{"| route | " + strings.Join(credentialKinds, " | ") + " |", "|" + strings.Repeat("---|", 1+len(credentialKinds))}
	paths := document(t).Paths.Map()
	for _, path := range document(t).Paths.InMatchingOrder() {
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodDelete} {
			op := paths[path].Operations()[method]
			if op == nil {
				continue
			}
			row := "| `" + method + " " + path + "` |"
			for _, kind := range credentialKinds {
				opens := b.opens(kind, method, path)
				require.Equal(t, mayCall(op, kind, method, path), opens, "%s %s as %s", method, path, kind)
				row += map[bool]string{true: " yes |", false: " |"}[opens]
			}
			table = append(table, row)
		}
	}
	slices.Sort(table[2:])
	page := "# Routes and credentials\n\nWhich credential opens which route of the API: every route was called with every kind of credential. " +
		"[Whom the director believes](../security.md) says what each is good for.\nThe routes of deployments and of webhooks have a token of their own for each server. " +
		"This page is generated, and a test checks that it is current.\n\n" + strings.Join(table, "\n") + "\n"
	if *updateCredentials {
		require.NoError(t, os.WriteFile(credentialsPage, []byte(page), 0o644))
	}
	current, err := os.ReadFile(credentialsPage)
	require.NoError(t, err)
	require.Equal(t, page, string(current), "go test ./server -run TestRoutesAndCredentials -update")
}

// opens reports whether a credential gets beyond authentication.
func (b *bundle) opens(kind, method, path string) bool {
	b.t.Helper()
	filled := regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, "x")
	body := any(nil)
	if method == http.MethodPost || method == http.MethodPut {
		body = fields{}
	}
	a := b.call(b.request(method, filled, body, b.credential(kind)))
	for _, code := range []string{"viewers_token", "scope_missing"} {
		if strings.Contains(string(a.body), `"code":"`+code+`"`) {
			return false
		}
	}
	require.NotContains(b.t, []int{http.StatusMethodNotAllowed, http.StatusTooManyRequests}, a.status, "%s %s", method, path)
	return a.status != http.StatusUnauthorized
}

func (b *bundle) credential(kind string) func(*http.Request) {
	bearer := func(raw string) func(*http.Request) { return header("Authorization", "Bearer "+raw) }
	switch kind {
	case "nobody":
		return func(*http.Request) {}
	case "player":
		return b.as("ada")
	case "game server":
		return header("X-Fleet-Token", fleetToken)
	case "backend: players":
		return bearer(playersToken)
	case "backend: tickets":
		return bearer(ticketsToken)
	case "viewer":
		return bearer("a token for reading")
	case "operator":
		return bearer(opsToken)
	}
	panic(fmt.Sprintf("kind %q", kind))
}

// mayCall says whom the contract lets call.
func mayCall(op *openapi3.Operation, kind, method, path string) bool {
	if op.Security == nil || len(*op.Security) == 0 {
		return true
	}
	for _, requirement := range *op.Security {
		if len(requirement) == 0 {
			return true
		}
		for scheme := range requirement {
			if slices.Contains(kindsOf(scheme, method, path), kind) {
				return true
			}
		}
	}
	return false
}

func kindsOf(scheme, method, path string) []string {
	switch scheme {
	case "accessToken":
		return []string{"player"}
	case "fleetToken":
		return []string{"game server"}
	case "backendToken":
		return []string{"backend: " + strings.Split(path, "/")[2]}
	case "operatorToken":
		if method == http.MethodGet {
			return []string{"viewer", "operator"}
		}
		return []string{"operator"}
	}
	return nil // of deployments, each of which has a token of its own
}
