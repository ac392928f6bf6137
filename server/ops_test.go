package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/api/contracttest"
	"github.com/lattice-director/director/server"
)

const opsToken = "the token of an operator"

// ops makes a call of an operator.
func (b *bundle) ops(method, path string, body any, change ...func(*http.Request)) answer {
	b.t.Helper()
	return b.call(b.request(method, "/ops/"+path, body, append([]func(*http.Request){header("Authorization", "Bearer "+opsToken)}, change...)...))
}

const duelDocument = "name: duel\nteams: [{name: a, players: 1, count: 2}]\n"

// Pins an operator whose change is lost, or overwrites somebody else's.
func TestProfilesOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	apply := func(document string, change ...func(*http.Request)) answer {
		return b.ops(http.MethodPut, "profiles/duel", fields{"document": document, "reason": "try"}, change...)
	}
	require.Equal(t, fields{"profiles": []any{}}, b.ops(http.MethodGet, "profiles", nil).ok(http.StatusOK))
	require.Equal(t, fields{"name": "duel", "version": 1.0, "changed": true}, apply(duelDocument, header("If-Match", `"0"`)).ok(http.StatusOK))
	require.Equal(t, false, apply(duelDocument).ok(http.StatusOK)["changed"])
	require.Equal(t, 2.0, apply(duelDocument+"ttl: 20s\n", header("If-Match", `"1"`)).ok(http.StatusOK)["version"])
	apply(duelDocument, header("If-Match", `"1"`)).problem(http.StatusPreconditionFailed, "profile_changed")
	require.Equal(t, []string{"If-Match"}, apply(duelDocument, header("If-Match", `W/"x"`)).named())

	one := b.ops(http.MethodGet, "profiles/duel?version=1", nil).ok(http.StatusOK)
	require.Equal(t, [4]any{duelDocument, "operator", "try", 2.0}, [4]any{one["document"], one["author"], one["reason"], one["live"]})
	require.Equal(t, 2.0, b.ops(http.MethodGet, "profiles/duel", nil).ok(http.StatusOK)["version"])
	b.ops(http.MethodGet, "profiles/duel?version=3", nil).problem(http.StatusNotFound, "profile_unknown")
	require.Equal(t, []string{"version"}, b.ops(http.MethodGet, "profiles/duel?version=x", nil).named())
	require.Contains(t, b.ops(http.MethodGet, "profiles/schema", nil).ok(http.StatusOK), "$schema")
	unreadable := fields{"document": "name: schema\nteams: [{name: all, players: 2}]\n"}
	require.Equal(t, []string{"name"}, b.ops(http.MethodPut, "profiles/schema", unreadable).named())

	require.Equal(t, 1.0, b.ops(http.MethodPost, "profiles/duel/rollback", fields{}).ok(http.StatusOK)["version"])
	require.Equal(t, 2.0, b.ops(http.MethodPost, "profiles/duel/rollback", fields{"version": 2}).ok(http.StatusOK)["version"])
	require.Equal(t, true, b.ops(http.MethodDelete, "profiles/duel?reason=over", nil).ok(http.StatusOK)["changed"])
	b.ops(http.MethodPost, "profiles/duel/rollback", fields{}).problem(http.StatusConflict, "profile_retired")
	require.Empty(t, b.ops(http.MethodGet, "profiles", nil).ok(http.StatusOK)["profiles"])
	require.Len(t, b.ops(http.MethodGet, "profiles?retired=true", nil).ok(http.StatusOK)["profiles"], 1)
	b.ops(http.MethodDelete, "profiles/nobody", nil).problem(http.StatusNotFound, "profile_unknown")
}

// Pins an author who is not told where the mistakes are.
func TestInvalidProfilesOverHTTP(t *testing.T) {
	t.Parallel()
	b := setup(t)
	a := b.ops(http.MethodPut, "profiles/duel", fields{"document": "name: duel\nteams: [{name: a, player: 1}]\nttl: 5\n"})
	f := a.problem(http.StatusUnprocessableEntity, "profile_invalid")
	require.Len(t, f["errors"], 2)
	require.Contains(t, f["detail"], "line 2, column 19: teams[0].player")
	b.ops(http.MethodPut, "profiles/other", fields{"document": duelDocument}).problem(http.StatusUnprocessableEntity, "profile_invalid")

	for path, schema := range map[string]string{"profiles/duel": "ApplyProfileRequest", "profiles/duel/rollback": "RollbackProfileRequest"} {
		s := document(t).Components.Schemas[schema].Value
		method := map[bool]string{false: http.MethodPut, true: http.MethodPost}[strings.HasSuffix(path, "rollback")]
		for _, c := range contracttest.BrokenCases(s) {
			a := b.ops(method, path, c.Body)
			require.Equal(t, http.StatusBadRequest, a.status, "%s: %s", c.Name, a.body)
		}
		a := b.ops(method, path, contracttest.Smallest(s))
		require.NotEqual(t, http.StatusBadRequest, a.status, "%s", a.body)
	}
}

// Pins profiles that a player or a game server can change.
func TestOperatorTokens(t *testing.T) {
	t.Parallel()
	named := "ada=0123456789abcdef"
	b := setup(t, func(c *config) { c.OpsTokens = []string{opsToken, named} })
	for name, change := range map[string]func(*http.Request){
		"nothing": func(*http.Request) {}, "player": b.as("alice"), "fleet": header("X-Fleet-Token", fleetToken), "wrong": header("Authorization", "Bearer "+opsToken+"x"),
		"with name": header("Authorization", "Bearer "+named), "empty": header("Authorization", "Bearer "), "basic": header("Authorization", "Basic "+opsToken),
	} {
		for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
			a := b.call(b.request(method, "/ops/profiles/duel", nil, change))
			require.Equal(t, http.StatusUnauthorized, a.status, name)
			require.True(t, strings.HasPrefix(a.header.Get("WWW-Authenticate"), "Bearer "), name)
		}
	}
	ada := header("Authorization", "Bearer 0123456789abcdef")
	b.call(b.request(http.MethodPut, "/ops/profiles/duel", fields{"document": duelDocument}, ada)).ok(http.StatusOK)
	require.Equal(t, "operator:ada", b.call(b.request(http.MethodGet, "/ops/profiles/duel", nil, ada)).ok(http.StatusOK)["author"])
	require.NotContains(t, b.log.String(), "0123456789abcdef")
	require.NotContains(t, b.log.String(), opsToken)

	off := setup(t, func(c *config) { c.OpsTokens = nil })
	off.client = &http.Client{} // the contract has these routes
	off.ops(http.MethodGet, "profiles", nil).problem(http.StatusNotFound, "route_not_found")
	_, err := server.New(server.Options{Store: b.store.Store, Keys: b.keys, OpenFleet: true, Access: b.config.Access, OpsTokens: []string{"short"}})
	require.Error(t, err)
}

// Pins a viewer who changes something.
func TestViewersOnlyRead(t *testing.T) {
	t.Parallel()
	b := setup(t, func(c *config) {
		c.OpsTokens = []string{opsToken, "ivy:viewer=a token for reading", "ada:operator=a token for everything"}
	})
	ivy, ada := header("Authorization", "Bearer a token for reading"), header("Authorization", "Bearer a token for everything")
	body := fields{"document": duelDocument}
	b.call(b.request(http.MethodPut, "/ops/profiles/duel", body, ivy)).problem(http.StatusForbidden, "viewers_token")
	b.call(b.request(http.MethodPut, "/ops/profiles/duel", body, ada)).ok(http.StatusOK)
	b.call(b.request(http.MethodGet, "/ops/profiles/duel", nil, ivy)).ok(http.StatusOK)
	b.call(b.request(http.MethodDelete, "/ops/profiles/duel", nil, ivy)).problem(http.StatusForbidden, "viewers_token")
	b.call(b.request(http.MethodPost, "/ops/profiles/duel/rollback", fields{}, ivy)).problem(http.StatusForbidden, "viewers_token")
}
