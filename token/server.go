package token

import (
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
)

// ServerPurpose is what a credential of a game server is good for. A credential for one purpose is wrong for the
// others.
type ServerPurpose string

// The purposes. The first three are of deployments.
const (
	ForFleet    ServerPurpose = "fleet"    // the game server's X-Fleet-Token
	ForContext  ServerPurpose = "context"  // GET /fleet/context, which servers of bevygap call
	ForHook     ServerPurpose = "hook"     // the provider's webhook, in the path
	forInstance ServerPurpose = "instance" // the X-Fleet-Token of a game server that registered by an enrolment
)

var serverPurposes = [...]ServerPurpose{ForFleet, ForContext, ForHook, forInstance}

const (
	maxRegionBytes = 32
	uuidBytes      = 36
	macBytes       = 43 // of base64 without padding
)

// ServerSecret is a credential of a game server. It is not printed; convert it to a string to use it.
type ServerSecret string

// Format implements fmt.Formatter with a placeholder.
func (ServerSecret) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, "[hidden]") }

// LogValue implements slog.LogValuer with a placeholder.
func (ServerSecret) LogValue() slog.Value { return slog.StringValue("[hidden]") }

// ServerTokens makes and verifies the credentials of game servers, of [Deployment] and of [Instance]: the HMAC-SHA256
// of what a credential says under a key that is derived (HKDF) from a key-encryption key and the purpose. So every
// replica verifies them without a query, and no table stores them. The first key-encryption key makes them, and all of
// them verify. Safe for concurrent use.
type ServerTokens struct{ keysByKEK []serverKeys }

// serverKeys are the keys that one key-encryption key gives, by purpose.
type serverKeys struct {
	fingerprint string // of the key-encryption key, in hex
	macKeys     map[ServerPurpose][]byte
}

func newServerKeys(kekID string, secret []byte) (serverKeys, error) {
	k := serverKeys{fingerprint: hex.EncodeToString([]byte(kekID)),
		macKeys: make(map[ServerPurpose][]byte, len(serverPurposes))}
	for _, purpose := range serverPurposes {
		key, err := hkdf.Key(sha256.New, secret, nil, "lattice-director deployment "+string(purpose), sha256.Size)
		if err != nil {
			return k, err
		}
		k.macKeys[purpose] = key
	}
	return k, nil
}

// MadeBy returns the fingerprint of the key-encryption key that makes credentials now.
func (t *ServerTokens) MadeBy() string { return t.keysByKEK[0].fingerprint }

func (k serverKeys) computeMAC(purpose ServerPurpose, text string) []byte {
	h := hmac.New(sha256.New, k.macKeys[purpose])
	_, _ = io.WriteString(h, text)
	return h.Sum(nil)
}

// signText returns the MAC of a text in base64, by the first key-encryption key.
func (t *ServerTokens) signText(purpose ServerPurpose, text string) string {
	return base64.RawURLEncoding.EncodeToString(t.keysByKEK[0].computeMAC(purpose, text))
}

// verifyMAC returns the fingerprint of the key-encryption key that made the MAC of a text. It takes the same time
// whichever that is.
func (t *ServerTokens) verifyMAC(purpose ServerPurpose, text, mac string) (by string, ok bool) {
	got, err := base64.RawURLEncoding.Strict().DecodeString(mac)
	if err != nil {
		return "", false
	}
	for _, k := range t.keysByKEK {
		if subtle.ConstantTimeCompare(k.computeMAC(purpose, text), got) == 1 && !ok {
			by, ok = k.fingerprint, true
		}
	}
	return by, ok
}
