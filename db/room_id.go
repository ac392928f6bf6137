package db

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"net/url"
	"strings"
)

// A room of a Rivalis game server has three ids: the raw one, any text that the game chose; the base, which is the raw
// one made fit for a URL; and the public one, which callers use: the base, unless another room of the fleet has it
// (room_name.go).

const maxRoomID = 64 // characters of a room id that a caller chooses

// validRoomID reports whether id may be given to a new room. Such an id is its own base.
func validRoomID(id string) bool {
	return id != "" && len(id) <= maxRoomID && strings.IndexFunc(id, outsideRoomIDs) < 0
}

func outsideRoomIDs(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}

// newRoomID makes an id for a room whose caller names none: r_ and 21 characters, 126 random bits.
func newRoomID() string {
	secret := make([]byte, 16)
	_, _ = rand.Read(secret) // never fails, by its contract
	return "r_" + base64.RawURLEncoding.EncodeToString(secret)[:21]
}

// roomBase returns the base of a raw id: each byte that a valid id cannot have is percent-encoded, ~ and . included.
// Unlike url.PathEscape it also encodes the separators of ids.
func roomBase(raw string) string {
	if strings.IndexFunc(raw, outsideRoomIDs) < 0 {
		return raw
	}
	var b strings.Builder
	for _, c := range []byte(raw) {
		if outsideRoomIDs(rune(c)) {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// rawRoomID returns the raw id of a base: the reverse of roomBase.
func rawRoomID(base string) (string, error) { return url.PathUnescape(base) }
