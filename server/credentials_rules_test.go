package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server"
)

// Who is to open which route, by rules that a new route falls under: what TestRoutesAndCredentials compares with.

// openersOf says who is to open a route.
func openersOf(t *testing.T, l server.Listener, method, path string) []string {
	t.Helper()
	switch l.Name {
	case "api":
		return openersOfAPI(t, method, path)
	case "orchestrator":
		switch {
		case method == "WebSocket":
			return []string{"Rivalis agent key"}
		case path == "/healthz" || path == "/readyz":
			return credentialKinds
		}
		return []string{"Rivalis admin key"}
	case "realtime":
		return []string{"lobby client"}
	case "control":
		if path == "/health" {
			return credentialKinds
		}
		return []string{"lobby's internal token"}
	case "console":
		return openersOfConsole(l, path)
	case "metrics":
		return credentialKinds
	}
	return nil
}

// openersOfConsole takes a path to which something is posted for an action, which viewers may not even ask about.
func openersOfConsole(l server.Listener, path string) []string {
	isAction := slices.ContainsFunc(l.Routes, func(r gin.RouteInfo) bool { return r.Path == path && r.Method == http.MethodPost })
	switch {
	case strings.HasPrefix(path, "/static/") || path == "/login" || path == "/favicon.ico":
		return credentialKinds
	case isAction && path != "/logout":
		return []string{"operator"}
	}
	return []string{"viewer", "operator"}
}

// openersOfAPI returns whom the contract lets call, and for Open Match whom its tokens name.
func openersOfAPI(t *testing.T, method, path string) []string {
	t.Helper()
	switch {
	case strings.HasPrefix(path, "/v1/frontendservice"):
		return []string{"Open Match: frontend", "Open Match: all"}
	case strings.HasPrefix(path, "/v1/"):
		return []string{"Open Match: all"}
	case strings.HasPrefix(path, "/hooks/"):
		return []string{"webhook"}
	}
	described := document(t).Paths.Value(pathParameter.ReplaceAllStringFunc(path, func(p string) string { return "{" + p[1:] + "}" }))
	if slices.Contains([]string{"/", "/nexis.yaml", "/favicon.ico"}, path) || strings.HasPrefix(path, "/docs/") { // descriptions of APIs, and what their page loads
		return credentialKinds
	}
	require.NotNil(t, described, path)
	op := described.GetOperation(method)
	require.NotNil(t, op, "%s %s", method, path)
	if op.Security == nil || len(*op.Security) == 0 {
		return credentialKinds
	}
	var all []string
	for _, requirement := range *op.Security {
		if len(requirement) == 0 {
			return credentialKinds
		}
		for scheme := range requirement {
			all = append(all, kindsOf(scheme, op, method, path)...)
		}
	}
	return all
}

func kindsOf(scheme string, op *openapi3.Operation, method, path string) []string {
	switch scheme {
	case "accessToken":
		return []string{"player"}
	case "fleetToken":
		if op.OperationID == "registerInstance" {
			return []string{"fleet token", "enrolment", "instance", "deployment"}
		}
		return []string{"fleet token", "instance", "deployment"}
	case "deploymentToken":
		return []string{"deployment"}
	case "backendToken":
		return []string{"backend: " + strings.Split(path, "/")[2]}
	case "operatorToken":
		if method == http.MethodGet {
			return []string{"viewer", "operator"}
		}
		return []string{"operator"}
	}
	return nil
}

func openersOfMethod(method string) []string {
	switch {
	case strings.HasPrefix(method, "/grpc.health."):
		return credentialKinds
	case strings.HasPrefix(method, "/openmatch.FrontendService/"):
		return []string{"Open Match: frontend", "Open Match: all"}
	case strings.HasPrefix(method, "/openmatch."), strings.HasSuffix(method, "/CountPool"):
		return []string{"Open Match: all"}
	}
	return []string{"Open Match: frontend", "Open Match: all"} // reflection, and what the director adds
}
