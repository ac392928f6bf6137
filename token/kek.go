package token

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
)

// KEKBytes is the length of a key-encryption key: AES-256.
const KEKBytes = 32

// ErrSealed means that a sealed key cannot be opened: its key-encryption key is not configured, or the sealed bytes
// were changed or belong to another row.
var ErrSealed = errors.New("sealed key cannot be opened")

// The sealed form: one byte for the version, eight bytes that identify the key-encryption key, a random 96-bit nonce,
// and the secret, encrypted with AES-256-GCM, with its tag. Version 1 seals the 32-byte seed of a signing key; its
// authenticated data is the kid. Version 2 seals any other secret; see secretData. A sealed secret that is copied to
// another row does not open, because its authenticated data names the row. Random nonces are safe for 2^32 secrets
// under one key-encryption key.
const (
	sealVersion   = 1
	secretVersion = 2
	kekIDBytes    = 8
	sealHeader    = 1 + kekIDBytes
)

type kek struct {
	id   string
	aead cipher.AEAD
}

func newKEK(secret []byte) (kek, error) {
	if len(secret) != KEKBytes {
		return kek{}, fmt.Errorf("has %d bytes, not %d", len(secret), KEKBytes)
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return kek{}, err
	}
	aead, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		return kek{}, err
	}
	name := sha256.Sum256(append([]byte("lattice-director key-encryption key\x00"), secret...))
	return kek{id: string(name[:kekIDBytes]), aead: aead}, nil
}

// ParseKEKs reads comma-separated key-encryption keys in base64, with the standard or the URL alphabet, padded or not.
// Errors hold the position and never the value.
func ParseKEKs(setting string) ([][]byte, error) {
	var keks [][]byte
	alphabet := strings.NewReplacer("-", "+", "_", "/")
	for i, word := range strings.Split(setting, ",") {
		plain := strings.TrimRight(alphabet.Replace(strings.TrimSpace(word)), "=")
		secret, err := base64.RawStdEncoding.DecodeString(plain)
		if err != nil || len(secret) != KEKBytes {
			return nil, fmt.Errorf("key-encryption key %d is not %d bytes of base64", i+1, KEKBytes)
		}
		keks = append(keks, secret)
	}
	return keks, nil
}

func (k kek) hexFingerprint() string { return hex.EncodeToString([]byte(k.id)) }
