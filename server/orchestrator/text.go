package orchestrator

import (
	"unicode/utf8"

	"golang.org/x/text/encoding/unicode"
)

// decodeText reads text as JavaScript does: each maximal part of an invalid sequence becomes one U+FFFD. Agents and
// upstream count lengths and name rooms by that text.
func decodeText(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	text, _ := unicode.UTF8.NewDecoder().Bytes(b) // replaces what is invalid; it returns no error
	return string(text)
}

// isLongerThan reports whether text has more than limit UTF-16 code units, which is what JavaScript calls its length.
func isLongerThan(text string, limit int) bool {
	if len(text) <= limit {
		return false // a rune never has more units than bytes
	}
	units := 0
	for _, r := range text {
		units++
		if r > 0xFFFF {
			units++
		}
		if units > limit {
			return true
		}
	}
	return false
}
