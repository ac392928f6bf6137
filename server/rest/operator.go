package rest

import (
	"crypto/sha256"
	"net/http"
	"regexp"

	"github.com/gin-gonic/gin"
)

// operatorToken is a configured token with the name of whoever has it, and what it may do.
var operatorToken = regexp.MustCompile(`^([a-z0-9-]{1,32})(:viewer|:operator)?=(.{16,})$`)

// OperatorIdentity is whoever has an operator's token.
type OperatorIdentity struct {
	Name        string // "operator:NAME" or "operator", as events and the log name it
	Viewer      bool   // may read, and change nothing
	Fingerprint string // of the token; see [Fingerprint]
}

// OperatorTokens are the tokens of operators. Safe for concurrent use.
type OperatorTokens struct {
	tokenHashes [][sha256.Size]byte
	identities  []OperatorIdentity
}

// ParseOperatorTokens reads tokens in the forms TOKEN, NAME=TOKEN, NAME:viewer=TOKEN and NAME:operator=TOKEN.
func ParseOperatorTokens(texts []string) OperatorTokens {
	var t OperatorTokens
	for _, text := range texts {
		who := OperatorIdentity{Name: "operator"}
		// Other texts are tokens without a name, which may contain "=" as well.
		if named := operatorToken.FindStringSubmatch(text); named != nil {
			who.Name, who.Viewer, text = "operator:"+named[1], named[2] == ":viewer", named[3]
		}
		who.Fingerprint = Fingerprint(text)
		t.tokenHashes = append(t.tokenHashes, sha256.Sum256([]byte(text)))
		t.identities = append(t.identities, who)
	}
	return t
}

// Find returns who has a token. It takes the same time whichever token it is.
func (t OperatorTokens) Find(raw string) (who OperatorIdentity, ok bool) {
	i := indexOf(t.tokenHashes, raw)
	if i < 0 {
		return OperatorIdentity{}, false
	}
	return t.identities[i], true
}

// Current returns the identity whose token has a fingerprint, as it is configured now.
func (t OperatorTokens) Current(fingerprint string) (who OperatorIdentity, ok bool) {
	for _, who := range t.identities {
		if who.Fingerprint == fingerprint {
			return who, true
		}
	}
	return OperatorIdentity{}, false
}

// RequireOperator accepts requests that carry one of the tokens as a bearer token (RFC 6750), in the forms of
// [ParseOperatorTokens]; handlers read "operator:NAME" with [Caller], or "operator". Without tokens it accepts no
// request. The token of a viewer is only good for reading. failures limits how often an address may fail; nil sets no
// limit.
func RequireOperator(tokens []string, failures *Limiter) gin.HandlerFunc {
	all := ParseOperatorTokens(tokens)
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if !ok {
			refuseCredential(c, failures, bearerChallenge,
				"An operator's token is required: Authorization: Bearer <token>.")
			return
		}
		who, ok := all.Find(raw)
		if !ok {
			refuseCredential(c, failures, bearerChallenge, "The operator's token is wrong.")
			return
		}
		NoteCaller(c, who.Name, "operator")
		if who.Viewer && c.Request.Method != http.MethodGet && c.Request.Method != http.MethodHead {
			Fail(c, &Problem{Status: http.StatusForbidden, Code: "viewers_token", Title: "Forbidden",
				Detail: "This token is a viewer's: it may only read."})
		}
	}
}

// NoteCaller states whom a middleware authenticated, for [Caller], and as what the access log names it, such as
// "operator".
func NoteCaller(c *gin.Context, caller, role string) {
	s := scopeOf(c)
	s.caller, s.role = caller, role
}
