package rest

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/gin-gonic/gin"
)

// BackendScope is what a backend's token is good for.
type BackendScope string

// The scopes. A token without any has all.
const (
	ScopePlayers BackendScope = "players" // store what profiles take from nobody else
	ScopeTickets BackendScope = "tickets" // queue for players
)

var backendScopes = []BackendScope{ScopePlayers, ScopeTickets}

// backendToken is a name, scopes and a secret.
var backendToken = regexp.MustCompile(`^([a-z0-9-]{1,32})(?::([a-z+]+))?=(.{16,})$`)

// BackendTokens are the tokens of the studio's own services. Safe for concurrent use.
type BackendTokens struct {
	tokenHashes [][sha256.Size]byte
	callerNames []string // "backend:NAME"
	tokenScopes [][]BackendScope
}

// ParseBackendTokens reads tokens in the forms NAME=SECRET, NAME:players=SECRET, NAME:tickets=SECRET and
// NAME:players+tickets=SECRET. A name may have several, for a rotation. Errors: another form, whose secret is not
// shown.
func ParseBackendTokens(texts []string) (t BackendTokens, err error) {
	for i, text := range texts {
		parts := backendToken.FindStringSubmatch(text)
		if parts == nil {
			return t, fmt.Errorf("backend token %d is not of the form NAME:SCOPES=SECRET, with 16 characters or more",
				i+1)
		}
		scopes := backendScopes
		if parts[2] != "" {
			scopes = nil
			for scope := range strings.SplitSeq(parts[2], "+") {
				if !slices.Contains(backendScopes, BackendScope(scope)) {
					return t, fmt.Errorf("backend token %d has the scope %q: there are players and tickets", i+1, scope)
				}
				scopes = append(scopes, BackendScope(scope))
			}
		}
		t.tokenHashes = append(t.tokenHashes, sha256.Sum256([]byte(parts[3])))
		t.callerNames = append(t.callerNames, "backend:"+parts[1])
		t.tokenScopes = append(t.tokenScopes, scopes)
	}
	return t, nil
}

// RequireBackend accepts requests that carry a token with a scope as a bearer token (RFC 6750); handlers read
// "backend:NAME" with [Caller]. Without tokens it accepts no request. failures limits how often an address may fail;
// nil sets no limit.
func RequireBackend(tokens BackendTokens, scope BackendScope, failures *Limiter) gin.HandlerFunc {
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if !ok {
			refuseCredential(c, failures, bearerChallenge,
				"A backend's token is required: Authorization: Bearer <token>.")
			return
		}
		i := indexOf(tokens.tokenHashes, raw)
		if i < 0 {
			refuseCredential(c, failures, bearerChallenge, "The backend's token is wrong.")
			return
		}
		// The caller is noted before the scope is checked, so that the log says whose token lacks it. A missing scope is no
		// failed authentication.
		NoteCaller(c, tokens.callerNames[i], "backend")
		if !slices.Contains(tokens.tokenScopes[i], scope) {
			Fail(c, &Problem{Status: http.StatusForbidden, Code: "scope_missing", Title: "Forbidden",
				Detail: "This token lacks the scope " + string(scope) + "."})
		}
	}
}
