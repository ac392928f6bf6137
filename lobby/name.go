package lobby

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	maxIDBytes   = 128
	maxTypeBytes = 64 // so that "type:match:" and an id are a room id
)

// ValidID reports whether id may name a room: 1 to 128 bytes of UTF-8 without spaces and control characters.
func ValidID(id string) bool { return validName(id, maxIDBytes) }

// ValidType reports whether name may name a room type: 1 to 64 bytes as in [ValidID], without a colon, which ends the
// type in the id of a room.
func ValidType(name string) bool {
	return validName(name, maxTypeBytes) && !strings.Contains(name, ":")
}

func validName(name string, maxBytes int) bool {
	odd := func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }
	return name != "" && len(name) <= maxBytes && utf8.ValidString(name) && !strings.ContainsFunc(name, odd)
}
