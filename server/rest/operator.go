package rest

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"

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
		acceptNamed(c, raw, hashes, names, failures, bearerChallenge, "operator", "The operator's token is wrong.")
	}
}

// Keys accepts requests that carry one of the keys as a bearer token (RFC 6750) or, if there is none and query is not "", as the
// query parameter of that name. Handlers read the key's [Fingerprint] with [Caller]. failures is as in [Operator].
func Keys(keys []string, query string, failures *Limiter) gin.HandlerFunc {
	hashes, names := make([][sha256.Size]byte, len(keys)), make([]string, len(keys))
	for i, key := range keys {
		hashes[i], names[i] = sha256.Sum256([]byte(key)), Fingerprint(key)
	}
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if query != "" && c.GetHeader("Authorization") == "" {
			raw = c.Query(query)
			ok = raw != ""
		}
		if !ok {
			refuse(c, failures, bearerChallenge, "A key is required: Authorization: Bearer <key>.")
			return
		}
		acceptNamed(c, raw, hashes, names, failures, bearerChallenge, "key", "The key is wrong.")
	}
}

// Fingerprint names a key in logs and events: key# and the first 8 hex digits of its SHA-256.
func Fingerprint(key string) string {
	hash := sha256.Sum256([]byte(key))
	return "key#" + hex.EncodeToString(hash[:4])
}

// acceptNamed accepts a request with one of the secrets. role is the caller's name in the access log.
func acceptNamed(c *gin.Context, raw string, hashes [][sha256.Size]byte, names []string, failures *Limiter, challenge, role, wrong string) {
	i := indexOf(hashes, raw)
	if i < 0 {
		refuse(c, failures, challenge, wrong)
		return
	}
	s := scopeOf(c)
	s.caller, s.role = names[i], role
}

// Secret accepts requests that carry one of the secrets in a header of that name. Handlers read the secret's [Fingerprint] with [Caller].
// failures is as in [Operator].
func Secret(header string, secrets []string, failures *Limiter) gin.HandlerFunc {
	challenge := header + ` realm="director"`
	hashes, names := make([][sha256.Size]byte, len(secrets)), make([]string, len(secrets))
	for i, secret := range secrets {
		hashes[i], names[i] = sha256.Sum256([]byte(secret)), Fingerprint(secret)
	}
	return func(c *gin.Context) {
		raw := c.GetHeader(header)
		if raw == "" { // An empty secret in the configuration must not match it.
			refuse(c, failures, challenge, "The header "+header+" is missing.")
			return
		}
		acceptNamed(c, raw, hashes, names, failures, challenge, "secret", "The header "+header+" is wrong.")
	}
}
