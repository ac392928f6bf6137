package rest

import (
	"github.com/lattice-director/director/internal/base/endpoint"
	"github.com/lattice-director/director/token"
)

// Format is a rule for strings, with the text that error messages describe it by.
type Format struct {
	Description string // completes the sentence "must be …"
	Valid       func(string) bool
}

// The formats that all faces share. api/openapi.yaml specifies them.
var (
	ID = Format{
		Description: "1 to 128 characters of A-Z a-z 0-9 . _ : -",
		Valid:       ofBytes(128, letters+digits+"._:-"),
	}
	Region = Format{
		Description: "1 to 32 characters of a-z 0-9 -",
		Valid:       ofBytes(32, lower+digits+"-"),
	}
	Mode = Format{
		Description: "1 to 64 characters of A-Z a-z 0-9 . _ -",
		Valid:       ofBytes(64, letters+digits+"._-"),
	}
	// Build is that of a player's client.
	Build = Format{
		Description: "1 to 64 characters of A-Z a-z 0-9 . _ + -",
		Valid:       ofBytes(64, letters+digits+"._+-"),
	}
	// Endpoint is what players dial.
	Endpoint = Format{Description: endpoint.Allowed, Valid: endpoint.IsDialable}
	// JTI is the id of a session token (RFC 7519 section 4.1.7).
	JTI = Format{
		Description: "1 to 128 visible ASCII characters",
		Valid:       ofBytes(128, letters+digits+"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
	}
	// Sub is a player's id, the claim sub of access tokens (RFC 7519 section 4.1.2).
	Sub = Format{
		Description: "1 to 255 bytes of UTF-8 without control characters and without U+FFFD",
		Valid:       token.ValidSubject,
	}
)

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// ofBytes returns a function that reports whether a string has 1 to maxLen bytes, all from the alphabet. Every request
// runs such functions, so they look each byte up in a table.
func ofBytes(maxLen int, alphabet string) func(string) bool {
	var in [256]bool
	for _, b := range []byte(alphabet) {
		in[b] = true
	}
	return func(s string) bool {
		if s == "" || len(s) > maxLen {
			return false
		}
		for i := range len(s) {
			if !in[s[i]] {
				return false
			}
		}
		return true
	}
}
