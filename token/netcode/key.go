package netcode

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// KeyBytes is the length of a key.
const KeyBytes = 32

const hidden = "[hidden]"

// Key is the secret that the minter shares with the game servers of a deployment. The zero Key cannot be used. Compare
// keys with [Key.Equal].
type Key struct{ box *box[[KeyBytes]byte] }

// box hides the bytes from fmt if a Key or Token is an unexported field. For such fields fmt calls no method, and with
// an unsuitable verb, such as %s, it follows one pointer but not two.
type box[T any] struct{ value *T }

// NewKey returns a random key.
func NewKey() Key {
	secret := new([KeyBytes]byte)
	_, _ = rand.Read(secret[:]) // never returns an error: crypto/rand ends the program instead
	return Key{&box[[KeyBytes]byte]{secret}}
}

// KeyOf returns the key with these bytes, which it copies. Errors: [FieldError], without the bytes.
func KeyOf(secret []byte) (Key, error) {
	if len(secret) != KeyBytes {
		return Key{}, FieldError{"key", fmt.Sprintf("has %d bytes, not %d", len(secret), KeyBytes)}
	}
	own := [KeyBytes]byte(secret)
	return Key{&box[[KeyBytes]byte]{&own}}, nil
}

// Secret returns a copy of the bytes, or nil for the zero Key. Do not print or log it.
func (k Key) Secret() []byte {
	if k.box == nil {
		return nil
	}
	return bytes.Clone(k.box.value[:])
}

// Hex returns the key as 64 hexadecimal digits, for the environment of a game server. Do not print or log it.
func (k Key) Hex() string { return hex.EncodeToString(k.Secret()) }

// Decimals returns the key as "[1, 2, …]", 32 decimal numbers, the form that Lightyear's games read. Do not print or
// log it.
func (k Key) Decimals() string {
	words := make([]string, 0, KeyBytes)
	for _, b := range k.Secret() {
		words = append(words, strconv.Itoa(int(b)))
	}
	return "[" + strings.Join(words, ", ") + "]"
}

// Equal compares two keys in constant time. The zero Key equals only itself.
func (k Key) Equal(other Key) bool {
	return subtle.ConstantTimeCompare(k.Secret(), other.Secret()) == 1
}

// Format implements fmt.Formatter with a placeholder.
func (Key) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue implements slog.LogValuer with a placeholder.
func (Key) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler with a placeholder.
func (Key) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// TokenBytes is the length of a connect token.
const TokenBytes = 2048

// Token is a connect token. Like a [Key] it cannot be printed: it admits its bearer, and holds the keys of the
// connection.
type Token struct{ box *box[[TokenBytes]byte] }

// Bytes returns a copy of the token, or nil for the zero Token. Do not print or log it.
func (t Token) Bytes() []byte {
	if t.box == nil {
		return nil
	}
	return bytes.Clone(t.box.value[:])
}

// Base64 returns the token in standard base64 with padding, 2,732 characters: the form that clients of Lightyear
// decode. Do not print or log it.
func (t Token) Base64() string {
	if t.box == nil {
		return ""
	}
	return base64.StdEncoding.EncodeToString(t.box.value[:])
}

// Format implements fmt.Formatter with a placeholder.
func (Token) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, hidden) }

// LogValue implements slog.LogValuer with a placeholder.
func (Token) LogValue() slog.Value { return slog.StringValue(hidden) }

// MarshalText implements encoding.TextMarshaler with a placeholder: [Token.Base64] is the explicit way to send a token.
func (Token) MarshalText() ([]byte, error) { return []byte(hidden), nil }
