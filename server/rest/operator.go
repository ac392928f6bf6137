package rest

import (
	"crypto/sha256"
	"log/slog"
	"regexp"
	"strings"

	"github.com/gin-gonic/gin"
)

// operatorToken is a configured token with the name of whoever has it.
var operatorToken = regexp.MustCompile(`^([a-z0-9-]{1,32})=(.{16,})$`)

// Operator accepts requests that carry one of the tokens as a bearer token (RFC 6750). A token may be configured as NAME=TOKEN;
// handlers read "operator:NAME" with [Caller], or "operator". Without tokens it accepts no request. failures limits how often an
// address may fail; nil sets no limit.
func Operator(tokens []string, failures *Limiter) gin.HandlerFunc {
	hashes, names := make([][sha256.Size]byte, len(tokens)), make([]string, len(tokens))
	for i, token := range tokens {
		names[i] = "operator"
		if named := operatorToken.FindStringSubmatch(token); named != nil {
			names[i], token = "operator:"+named[1], named[2]
		}
		hashes[i] = sha256.Sum256([]byte(token))
	}
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if !ok {
			refuse(c, failures, bearerChallenge, "An operator's token is required: Authorization: Bearer <token>.")
			return
		}
		i := indexOf(hashes, strings.TrimSpace(raw))
		if i < 0 {
			refuse(c, failures, bearerChallenge, "The operator's token is wrong.")
			return
		}
		scopeOf(c).caller = names[i]
		AddLogAttrs(c.Request.Context(), slog.String("operator", names[i]))
	}
}
