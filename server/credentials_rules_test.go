package server_test

import (
	"net/http"
	"regexp"
	"slices"
	"testing"

	"github.com/gin-gonic/gin"
	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/server"
)

// openerRules say who is to open which route, by patterns that a new route falls under: what TestRoutesAndCredentials
// compares with. The first pattern counts that matches the listener, or else the contract's scheme, with the method and the
// path.
var openerRules = []struct {
	pattern string
	openers []string
}{
	{`api \w+ /v1/frontendservice.*`, []string{"Open Match: frontend", "Open Match: all"}},
	{`api \w+ /v1/.*`, []string{"Open Match: all"}},
	{`api \w+ /hooks/.*`, []string{"webhook"}},
	{`api \w+ /(nexis\.yaml|favicon\.ico|docs/.*)?`, credentialKinds}, // descriptions of APIs, and what their page loads
	{`orchestrator WebSocket .*`, []string{"Rivalis agent key"}},
	{`orchestrator \w+ /(healthz|readyz)`, credentialKinds},
	{`orchestrator .*`, []string{"Rivalis admin key"}},
	{`realtime .*`, []string{"lobby client"}},
	{`control \w+ /health`, credentialKinds},
	{`control .*`, []string{"lobby's internal token"}},
	{`(console|action) \w+ (/static/.*|/login|/favicon\.ico)`, credentialKinds},
	{`(console|action) \w+ /logout`, []string{"viewer", "operator"}},
	{`action .*`, []string{"operator"}},
	{`console .*`, []string{"viewer", "operator"}},
	{`metrics .*`, credentialKinds},
	{`accessToken .*`, []string{"player"}},
	{`fleetToken POST /fleet/register`, []string{"fleet token", "enrolment", "instance", "deployment"}},
	{`fleetToken .*`, []string{"fleet token", "instance", "deployment"}},
	{`deploymentToken .*`, []string{"deployment"}},
	{`backendToken \w+ /backend/players.*`, []string{"backend: players"}},
	{`backendToken \w+ /backend/tickets.*`, []string{"backend: tickets"}},
	{`operatorToken GET .*`, []string{"viewer", "operator"}},
	{`operatorToken .*`, []string{"operator"}},
	{`gRPC call /grpc\.health\..*`, credentialKinds},
	{`gRPC call /openmatch\.FrontendService/.*`, []string{"Open Match: frontend", "Open Match: all"}},
	{`gRPC call (/openmatch\..*|.*/CountPool)`, []string{"Open Match: all"}},
	{`gRPC .*`, []string{"Open Match: frontend", "Open Match: all"}}, // reflection, and what the director adds
}

// openersBy returns who is to open a route by the rules, nil without one.
func openersBy(by, method, path string) []string {
	for _, rule := range openerRules {
		if regexp.MustCompile("^(" + rule.pattern + ")$").MatchString(by + " " + method + " " + path) {
			return rule.openers
		}
	}
	return nil
}

// openersOf says who is to open a route. For the API, the contract says whom it lets call. An action of the console is what
// something is posted to, and viewers may not even ask about it.
func openersOf(t *testing.T, l server.Listener, method, path string) (all []string) {
	t.Helper()
	by := l.Name
	if l.Name == "console" &&
		slices.ContainsFunc(l.Routes, func(r gin.RouteInfo) bool { return r.Path == path && r.Method == http.MethodPost }) {
		by = "action"
	}
	if openers := openersBy(by, method, path); openers != nil {
		return openers
	}
	described := document(t).Paths.Value(pathParameter.ReplaceAllStringFunc(path, func(p string) string { return "{" + p[1:] + "}" }))
	require.NotNil(t, described, path)
	op := described.GetOperation(method)
	require.NotNil(t, op, "%s %s", method, path)
	if op.Security == nil || len(*op.Security) == 0 {
		return credentialKinds
	}
	for _, requirement := range *op.Security {
		if len(requirement) == 0 {
			return credentialKinds
		}
		for scheme := range requirement {
			all = append(all, openersBy(scheme, method, path)...)
		}
	}
	return all
}
