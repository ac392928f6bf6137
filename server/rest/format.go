package rest

import "github.com/lattice-director/director/token"

// Format is what a string may look like, and how that is told to a caller who got it wrong.
type Format struct {
	Allowed string // ends the sentence "must be …"
	Valid   func(string) bool
}

// The formats that all faces share, as the specification's "Limits" give them.
var (
	ID = Format{
		Allowed: "1 to 128 characters of A-Z a-z 0-9 . _ : -",
		Valid:   made(128, letters+digits+"._:-"),
	}
	Region = Format{
		Allowed: "1 to 32 characters of a-z 0-9 -",
		Valid:   made(32, lower+digits+"-"),
	}
	Mode = Format{
		Allowed: "1 to 64 characters of A-Z a-z 0-9 . _ -",
		Valid:   made(64, letters+digits+"._-"),
	}
	// JTI is the id of a session token (RFC 7519 section 4.1.7).
	JTI = Format{
		Allowed: "1 to 128 visible ASCII characters",
		Valid:   made(128, letters+digits+"!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"),
	}
	// Sub is a player, as the access token's issuer names them (RFC 7519 section 4.1.2).
	Sub = Format{
		Allowed: "1 to 255 bytes of UTF-8 without control characters and without U+FFFD",
		Valid:   token.ValidSubject,
	}
)

const (
	lower   = "abcdefghijklmnopqrstuvwxyz"
	letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	digits  = "0123456789"
)

// made tells whether a string has 1 to most bytes, all from the alphabet. It runs on every request, so it looks
// each byte up in a table.
func made(most int, alphabet string) func(string) bool {
	var in [256]bool
	for _, b := range []byte(alphabet) {
		in[b] = true
	}
	return func(s string) bool {
		if s == "" || len(s) > most {
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
