package rest

import (
	"crypto/sha256"
	"encoding/hex"

	"github.com/gin-gonic/gin"
)

// RequireKey accepts requests that carry one of the keys as a bearer token (RFC 6750) or, if there is none and
// queryParam is not "", as the query parameter of that name. Handlers read the key's [Fingerprint] with [Caller].
// failures is as in [RequireOperator].
func RequireKey(keys []string, queryParam string, failures *Limiter) gin.HandlerFunc {
	all := newNamedSecrets(keys)
	return func(c *gin.Context) {
		raw, ok := bearerToken(c.GetHeader("Authorization"))
		if queryParam != "" && c.GetHeader("Authorization") == "" {
			raw = c.Query(queryParam)
			ok = raw != ""
		}
		if !ok {
			refuseCredential(c, failures, bearerChallenge, "A key is required: Authorization: Bearer <key>.")
			return
		}
		name, ok := all.findSecret(raw)
		if !ok {
			refuseCredential(c, failures, bearerChallenge, "The key is wrong.")
			return
		}
		NoteCaller(c, name, "key")
	}
}

// Fingerprint names a key in logs and events: key# and the first 8 hex digits of its SHA-256.
func Fingerprint(key string) string {
	hash := sha256.Sum256([]byte(key))
	return "key#" + hex.EncodeToString(hash[:4])
}

// namedSecrets are secrets whose holders logs and events name by a [Fingerprint].
type namedSecrets struct {
	hashes [][sha256.Size]byte
	names  []string
}

func newNamedSecrets(secrets []string) namedSecrets {
	s := namedSecrets{make([][sha256.Size]byte, len(secrets)), make([]string, len(secrets))}
	for i, secret := range secrets {
		s.hashes[i], s.names[i] = sha256.Sum256([]byte(secret)), Fingerprint(secret)
	}
	return s
}

// findSecret returns the name of a secret. It takes the same time whichever secret it is.
func (s namedSecrets) findSecret(raw string) (name string, ok bool) {
	i := indexOf(s.hashes, raw)
	if i < 0 {
		return "", false
	}
	return s.names[i], true
}

// RequireSecret accepts requests that carry one of the secrets in a header of that name. Handlers read the secret's
// [Fingerprint] with [Caller]. failures is as in [RequireOperator].
func RequireSecret(header string, secrets []string, failures *Limiter) gin.HandlerFunc {
	challenge := header + ` realm="director"`
	all := newNamedSecrets(secrets)
	return func(c *gin.Context) {
		raw := c.GetHeader(header)
		if raw == "" { // An empty secret in the configuration must not match it.
			refuseCredential(c, failures, challenge, "The header "+header+" is missing.")
			return
		}
		name, ok := all.findSecret(raw)
		if !ok {
			refuseCredential(c, failures, challenge, "The header "+header+" is wrong.")
			return
		}
		NoteCaller(c, name, "secret")
	}
}
