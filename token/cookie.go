package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strings"
)

// Cookies seals what a browser keeps for the console: AES-256-GCM under a key that is derived (HKDF) from a
// key-encryption key. So every replica opens what another one sealed, without a query. The first key-encryption key
// seals, and all of them open. A sealed value does not expire: its content says until when it counts. Safe for
// concurrent use.
type Cookies struct {
	first cookieKey
	byID  map[string]cookieKey
}

type cookieKey struct {
	kekID string // of the key-encryption key
	aead  cipher.AEAD
}

// maxCookie bounds a sealed value: browsers store at most 4096 bytes of a cookie.
const maxCookie = 4096

func newCookieKey(kekID string, secret []byte) (cookieKey, error) {
	key, err := hkdf.Key(sha256.New, secret, nil, "lattice-director console cookie", KEKBytes)
	if err != nil {
		return cookieKey{}, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return cookieKey{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	return cookieKey{kekID: kekID, aead: aead}, err
}

// Seal encrypts a value for a purpose, as URL-safe text.
func (c *Cookies) Seal(purpose string, value []byte) string {
	//nolint:gosec // G407: this AEAD makes its own random nonces
	sealed := c.first.aead.Seal([]byte(c.first.kekID), nil, value, []byte(purpose))
	return base64.RawURLEncoding.EncodeToString(sealed)
}

// Open returns the value that Seal encrypted for this purpose. Errors: ErrSealed.
func (c *Cookies) Open(purpose, text string) ([]byte, error) {
	if len(text) > maxCookie || strings.ContainsAny(text, "\r\n") { // the decoder would ignore line breaks
		return nil, fmt.Errorf("%w: not a cookie", ErrSealed)
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(sealed) < kekIDBytes {
		return nil, fmt.Errorf("%w: not a cookie", ErrSealed)
	}
	key, known := c.byID[string(sealed[:kekIDBytes])]
	if !known {
		return nil, fmt.Errorf("%w: its key-encryption key is not configured", ErrSealed)
	}
	value, err := key.aead.Open(nil, nil, sealed[kekIDBytes:], []byte(purpose))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSealed, err)
	}
	return value, nil
}
